"""The register of readers: which function reads which kind of fitted model.

The register finds a reader by the name of the model's library and class, such as "sklearn.RandomForestClassifier", so
no library is imported for it. A subclass is read like its base class, unless it overrides a method that predicts. Each
family of scikit-learn's models has one file that registers its readers; :mod:`.supported` loads these files, and
registers the readers of boosters, ONNX files and the user's own trees.
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
"""Fitted steps that are applied to columns one after the other; :class:`Columns` may be one of them."""


SURE = "sure"
SHARES = ("shares", SURE)
"""Values of ``vote`` that request probabilities; "sure" only if the class always has the greatest probability."""


@dataclass(frozen=True)
class Columns:
    """A step of a path that selects columns.

    Parameters
    ----------
    indices : indices of the selected columns, in order; a column may occur more than once
    """

    indices: tuple[int, ...]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the step itself, which has nothing to learn; scikit-learn requires the method."""
        return self

    def transform(self, X: Any) -> Any:
        """The selected columns of an array or of a pandas frame."""
        return X.iloc[:, list(self.indices)] if hasattr(X, "iloc") else X[:, list(self.indices)]


# Columns are traced back once, at the end, for all members together. Two members may fill a missing value with
# different numbers, which only all traces together show: decisions/0056-readers-that-nest.
@dataclass(frozen=True, eq=False)
class Reading:
    """A fitted model as a forest, with the steps that prepare its columns.

    Parameters
    ----------
    core : the model over the columns that come out of ``paths``
    paths : steps between the columns of the table and those of the core. Each path is applied to the whole table; the
        core takes the resulting columns of the first path, then those of the second, and so on. A single path without
        steps if the model takes the columns of the table unchanged
    """

    core: Adapted
    paths: tuple[Path, ...] = ((),)

    @property
    def direct(self) -> bool:
        """Whether no step changes the columns before the model itself, the ``core``, takes them."""
        return self.paths == ((),)

    @property
    def steps(self) -> Path:
        """All paths as one path; a ``FeatureUnion`` joins the columns of several paths."""
        if len(self.paths) == 1:
            return self.paths[0]
        ways = [
            Pipeline([(f"step{i}", step) for i, step in enumerate(path)]) if path else "passthrough"
            for path in self.paths
        ]
        return (FeatureUnion([(f"path{k}", way) for k, way in enumerate(ways)]),)


@dataclass(frozen=True)
class Asked:
    """The options that a reader gets besides the model.

    Parameters
    ----------
    vote : which scores to read. "auto": scores whose largest one is the class that ``predict`` returns. "shares": what
        ``predict_proba`` returns if that is a sum over trees, else as "auto". "sure": as "shares", but only for models
        that predict the class of the greatest probability. "majority": the votes of the trees
    names : names of the columns, if the user gave them or an enclosing model has them
    X : rows that the user gives; the readers of some models look up the names of categories in them
    output : number of the target to explain, for a model with several targets
    """

    vote: str = "auto"
    names: Sequence[str] | None = None
    X: Any = None
    output: int | None = None

    def read(self, model: Any, **changes: Any) -> Reading:
        """The reading of another model, such as a member of an ensemble.

        Parameters
        ----------
        model : a fitted model
        changes : options that differ from those of this object
        """
        return read(model, replace(self, **changes))

    @property
    def within(self) -> Asked:
        """The options for a member that sees other columns than the whole model: prepared ones, or only some."""
        return replace(self, names=None, X=None, output=None)


Found = Forest | Adapted | Reading
Reader = Callable[[Any, Asked], Found]


@dataclass(frozen=True)
class Entry:
    """A reader, and the options that it accepts.

    Parameters
    ----------
    read : the reader
    words : name of the models that it reads, for the error message about unknown models
    votes : whether it accepts ``vote="majority"``
    outputs : whether it accepts ``output``
    fitted : whether scikit-learn's ``check_is_fitted`` works for these models
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
    """Register the function that reads models of some classes, and of subclasses that predict in the same way.

    Parameters
    ----------
    kinds, votes, outputs : as in :func:`proofwood.register_reader`, which says what is raised
    read : function of a fitted model and an :class:`Asked` that returns a ``Forest``, an ``Adapted`` or a ``Reading``
    words : name of the models that it reads, for the error message about unknown models
    fitted : whether scikit-learn's ``check_is_fitted`` is called for models that have a method ``fit``
    """
    if not isinstance(kinds, type | str | Sequence):
        raise TypeError(f"kinds={kinds!r}: expected classes, or names such as 'sklearn.RandomForestClassifier'")
    several = [kinds] if isinstance(kinds, type | str) else list(kinds)
    if not callable(read):
        raise TypeError(f"read={read!r}: expected a function of a fitted model and an ``Asked``")
    if not several:
        raise TypeError("kinds is empty: expected classes, or names such as 'sklearn.RandomForestClassifier'")
    for kind in several:
        if not isinstance(kind, type) and not (isinstance(kind, str) and kind.count(".") >= 1):
            raise TypeError(
                f"kinds holds {kind!r}: expected a class, or the names of its library and itself, such as "
                "'sklearn.RandomForestClassifier'"
            )
        key = kind_of(kind) if isinstance(kind, type) else _shortened(kind)
        _ENTRIES[key] = Entry(read, words, votes, outputs, fitted)


def kind_of(kind: type) -> str:
    """The name of a class in the register: the name of its library, a dot, and the name of the class."""
    return f"{kind.__module__.split('.')[0]}.{kind.__name__}"


def _shortened(name: str) -> str:
    parts = name.split(".")
    return f"{parts[0]}.{parts[-1]}"


def known() -> str:
    """The names of all models that can be read, as a list for a message."""
    words = list(dict.fromkeys(entry.words for entry in _ENTRIES.values() if entry.words))
    return ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + words[-1]


def read(model: Any, asked: Asked) -> Reading:
    """Read a fitted model with the reader that is registered for its class.

    Raises
    ------
    TypeError
        If the class of the model is not known, or the model cannot be read; the message says what is expected.
    ValueError
        If the reader does not accept ``vote="majority"`` or ``output``, and this option is given.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
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
        raise ValueError(f"output={asked.output!r}: a {type(model).__name__} predicts one target, so leave output out")
    found = entry.read(model, asked)
    if isinstance(found, Forest):
        if found.names is None:
            found = replace(found, names=names_of(model))
        found = plain(found, asked.names)
    if isinstance(found, Reading):
        return found
    return Reading(replace(found, model=one_target(model, asked.output, found.forest.classes)))


def names_of(model: Any) -> tuple[str, ...] | None:
    """The column names that a scikit-learn model saw in ``fit``; None if it saw none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def target_of(model: Any, n_targets: int, output: Any, names: Sequence[str] | None = None) -> int:
    """The number of the target to explain.

    Parameters
    ----------
    model : the model, for the message
    n_targets : number of targets of the model
    output : the number that the user gives, or None
    names : a description of each target, for the message; by default the classes of a classifier

    Raises
    ------
    TypeError
        If the model has several targets and ``output`` is None.
    ValueError
        If the model has no target with this number.
    """
    if output is None and n_targets == 1:
        return 0
    if names is None and n_targets > 1 and isinstance(getattr(model, "classes_", None), list):
        names = [f"classes {shown(np.asarray(labels).tolist())}" for labels in model.classes_]
    listed = [f"output={k}" + (f" ({names[k]})" if names else "") for k in range(min(n_targets, 8))]
    every = ", ".join(listed) + (", ..." if n_targets > 8 else "")
    if output is None:
        raise TypeError(
            f"the {type(model).__name__} predicts {n_targets} targets, but an explanation is about one of them: "
            f"expected one of {every}"
        )
    if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < n_targets:
        raise ValueError(f"output={output!r}: the {type(model).__name__} has the targets {every}")
    return int(output)


def refuse_majority(model: Any, vote: str) -> None:
    """Raise ValueError if ``vote`` is "majority", because the trees of this model do not vote."""
    if vote == "majority":
        raise ValueError(f"vote='majority' is for trees that vote: the trees of a {type(model).__name__} add up scores")


# ------------------------------------------------------------------------------------ what a subclass may be read as

PREDICTING = ("predict", "_predict", "_raw_predict", "_parallel_predict")
"""Prefixes of the names of methods that take part in a prediction."""
ALSO_PREDICTING = frozenset(
    {"decision_function", "score_samples", "apply", "transform", "_validate_X_predict", "_collect_probas", "_iter"}
    | {"_get_response_method", "_get_predictions", "_rows", "_read"}
)
"""Names of further methods that take part in a prediction."""


def _predicts(name: str) -> bool:
    return (name.startswith(PREDICTING) or name in ALSO_PREDICTING) and name != "predict_log_proba"


def _refuse_another_predict(model: Any, kind: type) -> None:
    """Raise TypeError if a subclass, or the model object itself, overrides a method that takes part in a prediction."""
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
                f"{whose} is a {kind.__name__} that overrides the method {another}, so its predictions may differ: "
                f"expected a {kind.__name__} with the methods of its library. To use another threshold, wrap it in "
                "scikit-learn's FixedThresholdClassifier; for your own class, register a reader "
                "(proofwood.register_reader)"
            )
