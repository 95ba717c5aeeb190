"""The register of readers: which function reads which kind of fitted model.

A reader is found by the type of the model, and no library is imported to look for it: a class is known by the name of
its library and its own name, "sklearn.RandomForestClassifier". A subclass is read as its base class is, unless it
predicts in a way of its own. A family of scikit-learn's models is one file that registers its readers;
:mod:`.supported` loads them, and registers the readers of boosters, ONNX files and one's own trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from proofwood.ensembles.forest import Forest
from proofwood.ensembles.readers.reading import Adapted, plain
from proofwood.ensembles.readers.targets import one_target
from proofwood.printable import shown

Path = tuple[Any, ...]
"""Fitted steps that columns pass one after the other; see :class:`Columns` for one of them."""


SURE = "sure"
SHARES = ("shares", SURE)
"""Votes that ask for probabilities; the second only if the class is always that of the greatest one."""


@dataclass(frozen=True)
class Columns:
    """A step of a path that hands on some columns.

    Parameters
    ----------
    indices : which, in order; a column may occur more than once
    """

    indices: tuple[int, ...]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """As steps of scikit-learn have it: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> Any:
        """The columns of an array, or of a frame of pandas."""
        return X.iloc[:, list(self.indices)] if hasattr(X, "iloc") else X[:, list(self.indices)]


# Columns are traced back once, at the end, for all members together: two members may fill a missing value with
# different numbers, and only all traces show that this is one fact about a column: decisions/0056-readers-that-nest.
@dataclass(frozen=True, eq=False)
class Reading:
    """What a reader makes of a fitted model.

    Parameters
    ----------
    core : the model over the columns that come out of ``paths``
    paths : ways of the columns of the table to those of the core: behind each path come all columns that it lets
        through, and the core takes those of the first path, then those of the second, and so on. One path without
        steps, if the model takes the columns of the table as they are
    """

    core: Adapted
    paths: tuple[Path, ...] = ((),)

    @property
    def direct(self) -> bool:
        """Whether the core takes the columns of the table as they are."""
        return self.paths == ((),)

    @property
    def steps(self) -> Path:
        """The same as one path, in which scikit-learn puts the columns of several paths beside each other."""
        if len(self.paths) == 1:
            return self.paths[0]
        ways = [
            Pipeline([(f"step{i}", step) for i, step in enumerate(path)]) if path else "passthrough"
            for path in self.paths
        ]
        return (FeatureUnion([(f"path{k}", way) for k, way in enumerate(ways)]),)


@dataclass(frozen=True)
class Asked:
    """What a reader is given besides the model.

    Parameters
    ----------
    vote : "auto": the scores whose largest is the class that ``predict`` gives; "shares": what ``predict_proba`` gives,
        where that is a sum over trees, else the same; "sure": likewise, of models that predict the class of the
        greatest probability; "majority": the class that most trees predict
    names : names of the columns, where the user or a model around this one knows them
    X : rows that the user gives, in which some models look for the names of their categories
    output : which target of a model of several
    """

    vote: str = "auto"
    names: Sequence[str] | None = None
    X: Any = None
    output: int | None = None

    def read(self, model: Any, **changes: Any) -> Reading:
        """The reading of another model, such as a member of the one that is read.

        Parameters
        ----------
        model : fitted
        changes : attributes of this object that differ in the new question
        """
        return read(model, replace(self, **changes))

    @property
    def within(self) -> Asked:
        """The question to a member that sees other columns than the whole: behind steps, or some of them."""
        return replace(self, names=None, X=None, output=None)


Found = Forest | Adapted | Reading
Reader = Callable[[Any, Asked], Found]


@dataclass(frozen=True)
class Entry:
    """A reader, and which questions it can answer.

    Parameters
    ----------
    read : the reader
    words : what it reads, for the message to models of no known kind
    votes : whether it answers to ``vote="majority"``
    outputs : whether it answers to ``output``
    fitted : whether ``check_is_fitted`` of scikit-learn tells if the model is fitted
    """

    read: Reader
    words: str
    votes: bool
    outputs: bool
    fitted: bool


_ENTRIES: dict[str, Entry] = {}


def register(
    kinds: type | str | Sequence[type | str],
    read: Reader,
    *,
    words: str = "",
    votes: bool = False,
    outputs: bool = False,
    fitted: bool = True,
) -> None:
    """Let a function read the models of some classes, and of subclasses that predict as these do.

    Parameters
    ----------
    kinds : classes, or their names with that of their library in front, such as ``"sklearn.RandomForestClassifier"``,
        whatever the modules between are called. A class that is in the register already gets the new reader
    read : from a fitted model and an :class:`Asked` to a ``Forest``, an ``Adapted`` or a ``Reading``. A model that
        holds another one gives what ``asked.read(other)`` returns
    words : what it reads, for the message to models of no known kind
    votes : whether it answers to ``vote="majority"``; without it such a question is refused
    outputs : whether it answers to ``output``; likewise
    fitted : whether ``check_is_fitted`` of scikit-learn tells if the model is fitted, where it has a method ``fit``

    Raises
    ------
    TypeError
        If ``kinds`` are none of these, or ``read`` is not a function.
    """
    if not isinstance(kinds, type | str | Sequence):
        raise TypeError(f"kinds={kinds!r}: expected classes, or names such as 'sklearn.RandomForestClassifier'")
    several = [kinds] if isinstance(kinds, type | str) else list(kinds)
    if not callable(read):
        raise TypeError(f"read={read!r}: expected a function of a fitted model and an ``Asked``")
    if not several:
        raise TypeError("kinds names no class: expected classes, or names such as 'sklearn.RandomForestClassifier'")
    for kind in several:
        if not isinstance(kind, type) and not (isinstance(kind, str) and kind.count(".") >= 1):
            raise TypeError(
                f"kinds holds {kind!r}: expected a class, or its name with that of its library, such as "
                "'sklearn.RandomForestClassifier'"
            )
        key = kind_of(kind) if isinstance(kind, type) else _shortened(kind)
        _ENTRIES[key] = Entry(read, words, votes, outputs, fitted)


def kind_of(kind: type) -> str:
    """The name of a class in the register: that of its library, and its own."""
    return f"{kind.__module__.split('.')[0]}.{kind.__name__}"


def _shortened(name: str) -> str:
    parts = name.split(".")
    return f"{parts[0]}.{parts[-1]}"


def known() -> str:
    """What is read, in words."""
    words = list(dict.fromkeys(entry.words for entry in _ENTRIES.values() if entry.words))
    return ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + words[-1]


def read(model: Any, asked: Asked) -> Reading:
    """The reading of a fitted model, by the reader of its kind.

    Raises
    ------
    TypeError
        If the model is of no known kind, or cannot be read; the message says what would do.
    ValueError
        If it is asked what a model of its kind has no answer to.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    kind = next((one for one in type(model).__mro__ if kind_of(one) in _ENTRIES), None)
    if kind is None:
        raise TypeError(f"cannot explain a {type(model).__name__}: expected a fitted {known()}")
    entry = _ENTRIES[kind_of(kind)]
    _refuse_another_predict(model, kind)
    if entry.fitted and hasattr(model, "fit"):
        check_is_fitted(model)
    if not entry.votes:
        refuse_majority(model, asked.vote)
    if asked.output is not None and not entry.outputs:
        raise ValueError(f"output={asked.output!r}: a {type(model).__name__} predicts one target: leave output out")
    found = entry.read(model, asked)
    if isinstance(found, Forest):
        if found.names is None:
            found = replace(found, names=names_of(model))
        found = plain(found, asked.names)
    if isinstance(found, Reading):
        return found
    return Reading(replace(found, model=one_target(model, asked.output, found.forest.classes)))


def names_of(model: Any) -> tuple[str, ...] | None:
    """Names of the columns, where a model of scikit-learn knows them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def target_of(model: Any, n_targets: int, output: Any, names: Sequence[str] | None = None) -> int:
    """Number of the target that is asked about.

    Parameters
    ----------
    model : it, for the message
    n_targets : of the model
    output : as the user states it
    names : what is known of each target, for the message; the classes of a classifier by default

    Raises
    ------
    TypeError
        If there are several targets, and none is named.
    ValueError
        If there is no such target.
    """
    if output is None and n_targets == 1:
        return 0
    if names is None and n_targets > 1 and isinstance(getattr(model, "classes_", None), list):
        names = [f"classes {shown(np.asarray(labels).tolist())}" for labels in model.classes_]
    listed = [f"output={k}" + (f" ({names[k]})" if names else "") for k in range(min(n_targets, 8))]
    every = ", ".join(listed) + (", ..." if n_targets > 8 else "")
    if output is None:
        raise TypeError(
            f"the {type(model).__name__} predicts {n_targets} targets, and explanations are for one of them: expected "
            f"one of {every}"
        )
    if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < n_targets:
        raise ValueError(f"output={output!r}: the {type(model).__name__} has the targets {every}")
    return int(output)


def refuse_majority(model: Any, vote: str) -> None:
    """ValueError if the question is about a majority vote and the trees of the model do not vote."""
    if vote == "majority":
        raise ValueError(f"vote='majority' is for trees that vote: the trees of a {type(model).__name__} add up scores")


# ------------------------------------------------------------------------------------ what a subclass may be read as

PREDICTING = ("predict", "_predict", "_raw_predict", "_parallel_predict")
"""Beginnings of the names of methods that take part in a prediction,"""
ALSO_PREDICTING = frozenset(
    {"decision_function", "score_samples", "apply", "transform", "_validate_X_predict", "_collect_probas", "_iter"}
    | {"_get_response_method", "_get_predictions", "_rows", "_read"}
)
"""and names of further ones."""


def _predicts(name: str) -> bool:
    return (name.startswith(PREDICTING) or name in ALSO_PREDICTING) and name != "predict_log_proba"


def _refuse_another_predict(model: Any, kind: type) -> None:
    """TypeError if a subclass, or the model alone, has a method in place of one by which its kind predicts."""
    order = type(model).__mro__
    places: list[tuple[str, Mapping[str, Any]]] = [
        (f"a {one.__name__}", vars(one)) for one in order[: order.index(kind)] if not issubclass(kind, one)
    ]
    own = {name: value for name, value in getattr(model, "__dict__", {}).items() if callable(value)}
    places.append((f"this {type(model).__name__}", own))
    for whose, names in places:
        another = next((name for name in names if _predicts(name) and hasattr(kind, name)), None)
        if another is not None:
            raise TypeError(
                f"{whose} is a {kind.__name__} with a method {another} of its own, which can be anything: expected a "
                f"{kind.__name__} that predicts as scikit-learn or its library has it. For another threshold there is "
                "FixedThresholdClassifier of scikit-learn; for a class of yours, register a reader "
                "(proofwood.register_reader)"
            )
