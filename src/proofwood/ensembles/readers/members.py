"""Models whose members are models: read all members over shared columns, and add up the predictions of the members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from proofwood.data.kinds import Kind
from proofwood.ensembles.forest import (
    DOUBLE,
    NO_CLASSES,
    Forest,
    Link,
    ScoredTree,
    merged,
    summing_noise,
)
from proofwood.ensembles.readers.categories import of_table
from proofwood.ensembles.readers.flattened import TooLargeError, answers_tree, classes_tree
from proofwood.ensembles.readers.reading import Adapted, column_names, numbers
from proofwood.ensembles.readers.register import Asked, Columns, Path, Reading, names_of
from proofwood.ensembles.readers.sklearn import coded, numbers_of, probabilities_of
from proofwood.ensembles.readers.targets import one_target
from proofwood.ensembles.sources import Source
from proofwood.ensembles.space import Input
from proofwood.model.node_table import LEAF, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Member:
    """A member of a model.

    Parameters
    ----------
    model : the fitted member
    reading : the reading of the member
    columns : indices of the whole model's columns that the member takes, in the member's order; None for all
    """

    model: Any
    reading: Reading
    columns: tuple[int, ...] | None = None

    @property
    def core(self) -> Adapted:
        """The member over the columns that its own steps produce."""
        return self.reading.core

    @property
    def forest(self) -> Forest:
        """The forest of the member."""
        return self.reading.core.forest


def members_of(models: Sequence[Any], asked: Asked, *, columns: Sequence[Any] | None = None, vote: str) -> list[Member]:
    """Read the members of a model.

    Parameters
    ----------
    models : the fitted members
    asked : the options for the whole model
    columns : for each member, the columns that it takes; None if each takes all columns
    vote : see :class:`Asked`
    """
    found = []
    for k, model in enumerate(models):
        given = None if columns is None else tuple(int(j) for j in columns[k])
        question = asked.within if given is not None else replace(asked, output=None)
        found.append(Member(model, question.read(model, vote=vote), given))
    return found


def names_within(model: Any, asked: Asked) -> Asked:
    """The same options, with the column names of the model filled in if the user gives none."""
    return asked if asked.names is not None else replace(asked, names=names_of(model))


class Together:
    """The members of a model, over the columns that they share.

    Parameters
    ----------
    whole : the model
    members : its members
    asked : the options for the whole model

    Attributes
    ----------
    members : the members, as passed
    forests : the forests of the members, over the columns of all members

    Raises
    ------
    TypeError
        If two members read the same column in different ways.
    """

    def __init__(self, whole: Any, members: Sequence[Member], asked: Asked) -> None:
        self._whole = whole
        self._asked = asked
        self._direct = all(member.reading.direct for member in members)
        plain = self._direct and all(member.core.is_plain for member in members)
        n = n_columns_of(whole, members)
        self._paths: tuple[Path, ...] = ((),)
        if plain:
            places = [np.arange(n) if one.columns is None else np.array(one.columns, np.int64) for one in members]
            names = column_names(names_of(whole) or _known_names(members), n, asked.names)
            self._frame = _plain_frame(names)
            self._n = n
        else:
            sizes = [member.forest.n_columns for member in members]
            starts = np.concatenate([[0], np.cumsum(sizes)])
            places = [np.arange(a, b) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
            self._n = int(starts[-1])
            if self._direct:
                self._frame = _merged_frame(whole, members, n)
            else:
                self._paths = tuple(path for member in members for path in _paths(member))
                self._frame = _frames_behind(members)
        self.members = tuple(members)
        self._places = places
        self.forests = tuple(_moved(one.forest, at) for one, at in zip(members, places, strict=True))
        self._takes = _takes_missing(members, places, self._n)
        gaps = [one.for_missing for one in self.forests]
        self._gaps = gaps[0] if all(one == gaps[0] for one in gaps) else {}

    def votes(self, k: int, instead: str) -> ScoredTree:
        """A member as one tree, in which each leaf votes for the class that the member predicts.

        Parameters
        ----------
        k : number of the member
        instead : advice for the error message

        Raises
        ------
        TypeError
            If the member's classes cannot be written as one small tree.
        """
        try:
            return self.over(k, classes_tree(self.members[k].core))
        except (TooLargeError, TypeError) as error:
            n = len(self.forests[k].trees)
            raise TypeError(
                f"{self._with(k)} of {n} tree{'s' * (n != 1)} cannot be explained, because it uses only the class that "
                f"this member predicts: expected single trees or small ensembles ({error}); {instead}"
            ) from error

    def given(self, k: int, expected: str, instead: str) -> Forest:
        """A forest whose sums, divided by a constant, equal the numbers or probabilities that a member predicts.

        Parameters
        ----------
        k : number of the member
        expected : the expected kind of member, for the error message
        instead : advice for the error message

        Raises
        ------
        TypeError
            If its predictions are not sums over its trees, and it is not a small ensemble.
        """
        forest = self.forests[k]
        mean = forest.link is not None and forest.link.kind == "mean"
        return forest if mean else self.answers(k, expected, instead)

    def answers(self, k: int, expected: str, instead: str) -> Forest:
        """A member as a forest of one tree, whose leaves hold the numbers or probabilities that the member returns."""
        forest = self.forests[k]
        method = "predict" if forest.is_regressor else "predict_proba"
        try:
            flat, given = answers_tree(self.members[k].core, method)
            tree = self.over(k, flat.holding(np.asarray(given, dtype=np.float64)))
        except (TooLargeError, TypeError) as error:
            raise TypeError(
                f"{self._with(k)} cannot be explained: expected {expected}, or a small ensemble ({error}); {instead}"
            ) from error
        return replace(forest, trees=(merged(tree),), base=np.zeros(tree.value.shape[1]), noise=0.0, link=Link())

    def _with(self, k: int) -> str:
        return f"a {type(self._whole).__name__} with a {type(self.members[k].model).__name__}"

    def over(self, k: int, tree: ScoredTree) -> ScoredTree:
        """A tree of member ``k``, with its columns renumbered as columns of all members."""
        return _moved(replace(self.members[k].forest, trees=(tree,)), self._places[k]).trees[0]

    def reading(self, forest: Forest, *, takes_missing: bool = True) -> Reading:
        """The reading of the whole model.

        Parameters
        ----------
        forest : made of ``forests``; this method fills in its number of columns, missing values and predictions
        takes_missing : whether the whole model passes missing values on to its members
        """
        takes = self._takes if takes_missing else np.zeros(self._n, dtype=bool)
        forest = replace(forest, n_columns=self._n, takes_missing=takes, for_missing=self._gaps)
        if not self._direct:
            forest = replace(forest, predict=unasked, output=None if forest.link is None else unasked)
            return Reading(replace(self._frame, forest=forest, predict=unasked, output=forest.output), self._paths)
        forest = answering(forest, self._whole, self._asked.output)
        predict, output = forest.predict, forest.output
        table = self._frame.table
        if table is not None:
            predict = partial(of_table, predict, table)
            output = None if output is None else partial(of_table, output, table)
            forest = replace(forest, predict=predict, output=output)
        model = one_target(self._whole, self._asked.output, forest.classes)
        return Reading(replace(self._frame, forest=forest, predict=predict, output=output, model=model))


def answering(forest: Forest, model: Any, output: int | None = None) -> Forest:
    """The forest, with functions that return the scikit-learn model's own predictions and probabilities.

    Parameters
    ----------
    output : number of the target, for a model with several targets
    """
    one = one_target(model, output, forest.classes)
    if forest.is_regressor:
        return replace(forest, predict=partial(numbers_of, one), output=partial(numbers_of, one))
    output_of = None if forest.link is None else partial(probabilities_of, one)
    return replace(forest, predict=coded(one), output=output_of)


def unasked(X: Any) -> NoReturn:
    """Raise TypeError; used in place of the predictions of a model that cannot be called without its own steps."""
    raise TypeError("the model prepares rows by steps, so it cannot predict rows that are already prepared")


def n_columns_of(whole: Any, members: Sequence[Member]) -> int:
    """The number of columns that a model with members takes."""
    n = getattr(whole, "n_features_in_", None)
    if n is None:
        n = getattr(members[0].model, "n_features_in_", None)
    return int(members[0].forest.n_columns if n is None else n)


def _known_names(members: Sequence[Member]) -> tuple[str, ...] | None:
    return next((one.forest.names for one in members if one.columns is None and one.forest.names is not None), None)


def _plain_frame(names: tuple[str, ...]) -> Adapted:
    return Adapted(
        forest=_NO_FOREST,
        inputs=tuple(map(Input, names)),
        sources=tuple(map(Source, range(len(names)))),
        read=partial(numbers, names=names),
        predict=unasked,
    )


def _frames_behind(members: Sequence[Member]) -> Adapted:
    """The columns of all members, one member after the other, as the steps of each member produce them."""
    inputs: list[Input] = []
    sources: list[Source] = []
    categories: dict[int, tuple[Any, ...]] = {}
    for member in members:
        start = len(inputs)
        categories |= {start + j: values for j, values in member.core.categories.items()}
        inputs += member.core.inputs
        sources += [replace(source, column=source.column + start) for source in member.core.sources]
    unknown = all(member.core.unknown_missing for member in members)
    return Adapted(
        _NO_FOREST,
        tuple(inputs),
        tuple(sources),
        partial(_read_behind, [member.core for member in members]),
        unasked,
        unknown_missing=unknown,
        categories=categories,
    )


def _read_behind(cores: Sequence[Adapted], X: Any) -> FloatArray:
    """(n_rows, n_inputs of all members) the prepared columns, each read by the member that takes it."""
    parts, start = [], 0
    for core in cores:
        end = start + len(core.inputs)
        parts.append(core.read(X.iloc[:, start:end] if hasattr(X, "iloc") else X[:, start:end]))
        start = end
    return np.concatenate(parts, axis=1)


def _merged_frame(whole: Any, members: Sequence[Member], n: int) -> Adapted:
    """The columns of the table, on which all members agree: numbers, or categories in the same order."""
    name = type(whole).__name__
    if any(member.columns is not None and member.columns != tuple(range(n)) for member in members):
        raise TypeError(
            f"a {name} whose members see different columns, some of them categories, cannot be explained: expected "
            "columns of numbers, or all columns for each member (max_features=1.0)"
        )
    special = [member.core for member in members if not member.core.is_plain]
    first = special[0]
    inputs = list(first.inputs)
    for member in members:
        for j, given in enumerate(member.core.inputs):
            inputs[j] = _same(inputs[j], given, name)
    if any(core.unknown_missing is not first.unknown_missing for core in special):
        raise TypeError(
            f"a {name} with a {type(members[0].model).__name__} cannot be explained: its members treat unknown "
            "categories in different ways. Expected members of one library"
        )
    sources = [source for member in members for source in member.core.sources]
    return replace(
        first,
        forest=_NO_FOREST,
        inputs=tuple(inputs),
        sources=tuple(sources),
        predict=unasked,
        output=None,
        ask=None,
        ask_output=None,
    )


def _same(one: Input, other: Input, name: str) -> Input:
    """A column on which two members agree; TypeError if they read it in different ways."""
    numeric = {Kind.NUMERIC, Kind.BOOLEAN, Kind.INTEGER}
    if one.kind in numeric and other.kind in numeric:
        if one.kind is Kind.NUMERIC and one.shown_as is None:
            one, other = other, one
        return replace(one, low=max(one.low, other.low), high=min(one.high, other.high))
    if one.kind is not other.kind or one.levels != other.levels or one.other != other.other:
        raise TypeError(
            f"a {name} cannot be explained if its members read the column {one.name!r} in different ways (for example, "
            "with different categories): expected members fitted on the same table"
        )
    return one


def _paths(member: Member) -> tuple[Path, ...]:
    first: Path = () if member.columns is None else (Columns(member.columns),)
    return tuple((*first, *path) for path in member.reading.paths)


def _moved(forest: Forest, places: IntArray) -> Forest:
    """The forest with column ``j`` renumbered as ``places[j]``."""
    if np.array_equal(places, np.arange(forest.n_columns)):
        return forest
    trees = []
    for tree in forest.trees:
        inner = tree.feature != LEAF
        trees.append(replace(tree, feature=np.where(inner, places[np.where(inner, tree.feature, 0)], LEAF)))
    gaps = {int(places[j]): gap for j, gap in forest.for_missing.items()}
    return replace(forest, trees=tuple(trees), for_missing=gaps)


def _takes_missing(members: Sequence[Member], places: Sequence[IntArray], n: int) -> BoolArray:
    takes = np.ones(n, dtype=bool)
    for member, at in zip(members, places, strict=True):
        own = member.forest.takes_missing
        np.logical_and.at(takes, at, np.zeros(len(at), dtype=bool) if own is None else own)
    return takes


_NO_FOREST = Forest((), np.zeros(0), NO_CLASSES, 0, 0.0, unasked)


def mean_of(
    forests: Sequence[Forest],
    weights: Sequence[float],
    n_scores: int,
    *,
    codes: Sequence[IntArray] | None = None,
) -> Forest:
    """The forest of the weighted mean of members, each of which is the sum of its trees divided by a constant.

    Parameters
    ----------
    forests : the forests of the members, with links of kind "mean"
    weights : the weights of the members
    n_scores : the number of scores of the whole model
    codes : for each member, the codes of the member's classes in the whole model; by default the same codes
    """
    links = [Link() if forest.link is None else forest.link for forest in forests]
    divisors = {link.divisor for link in links}
    common = divisors.pop() if len(divisors) == 1 else 1.0  # keeps sums multiples of a step
    trees: list[ScoredTree] = []
    base, noise = np.zeros(n_scores), 0.0
    for k, (forest, weight, link) in enumerate(zip(forests, weights, links, strict=True)):
        factor = weight * (common / link.divisor)
        spread = np.eye(n_scores) if codes is None else np.eye(n_scores)[codes[k]]
        made = [merged(replace(tree, value=tree.value * factor @ spread)) for tree in forest.trees]
        start = forest.base * factor @ spread
        if forest.noise > 0 or link.divisor != 1:
            whole = float(np.abs(start).max()) + sum(float(np.abs(tree.value[tree.leaves]).max()) for tree in made)
            noise += abs(factor) * forest.noise + 2 * link.unit * whole  # noise of the member, and of its result
        base = base + start
        trees += made
    return Forest(
        trees=tuple(trees),
        base=base,
        classes=NO_CLASSES,
        n_columns=0,
        noise=summing_noise(tuple(trees), base, DOUBLE, roundings=8) + noise,
        predict=unasked,
        link=Link(divisor=common * float(np.sum(weights))),
    )
