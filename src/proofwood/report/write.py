"""The report of a fitted model, written as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from sklearn.utils.validation import check_is_fitted

from proofwood.files import require_page, require_writable, write_whole
from proofwood.hints import parameter
from proofwood.language import ENGLISH, require_language, speaking
from proofwood.report.card import Card
from proofwood.report.content import Options, Rows, content
from proofwood.report.page import FOLDER, templates
from proofwood.result import figure

if TYPE_CHECKING:
    from proofwood.estimators.classifier import ProvedClassifier
    from proofwood.estimators.tree_path import TreePath
    from proofwood.near_optimal import NearOptimalTrees
    from proofwood.show.palette import Palette

EXPLAIN_SECONDS = 2.0
MOST_NODES, MOST_CLASSES, MOST_DEPTH = 5_000, 1_000, 500
"""The most nodes, classes and depth of a model that can have a report."""


def write_report(
    model: ProvedClassifier,
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    *,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    rows: Iterable[int] | None = None,
    title: str | None = None,
    palette: Palette | None = None,
    explain_seconds: float = EXPLAIN_SECONDS,
    sensitive_features: Any = None,
    card: Any = None,
    source: str | os.PathLike[str] | None = None,
    include_rows: bool = False,
    near_optimal: NearOptimalTrees | float | None = None,
    by_leaves: TreePath | int | None = None,
    language: str = ENGLISH,
) -> None:
    """Write a report about a fitted model into one HTML file, which works without a network.

    The report shows how often the model is wrong beside the baseline, its proof, the model itself, an answer for values
    that a reader types, its rules, and where it is wrong. It holds no row of the table unless you ask for rows.

    Parameters
    ----------
    model : fitted model
    path : file to write
    X, y : training rows and their labels, numbers, rewards or times
    X_val, y_val : rows that were not used in training, and their labels, for unbiased errors
    sample_weight : weights of the training rows, as given to ``fit``
    rows : indices of training rows to explain, from 0; by default none, or a few with ``include_rows``
    title : title of the report; by default that of the card, or the name of the target
    palette : list of colours in the order of the classes, or dict from label to colour
    explain_seconds : time limit for all formal explanations; 0 for none
    sensitive_features : groups of the training rows, as given to ``fit``; needed only if the objective has penalties
        for fairness
    card : what only people know of the model, such as its purpose and its limits: a mapping, or the path of a YAML,
        TOML or JSON file; see :class:`proofwood.report.card.Card`
    source : file with the training rows, which the report names with its digest
    include_rows : whether the file holds training rows (ways of the first 20,000, and values of some), so that a reader
        can find them in the picture: do not send it to people who may not see them
    near_optimal : how much more than the best tree another tree may cost, as ``slack`` of :func:`near_optimal_trees`,
        or the set that it returned: the report says how many such trees there are, which columns all of them test, and
        how many rows some of them decide otherwise. For trees of classes up to a depth of three; None leaves it out
    by_leaves : number of folds (0 for none), or the path that :func:`optimal_tree_path` returned: the report says what
        the best trees of fewer and more leaves cost, and how often they are wrong on rows that folds hold out. For
        trees of classes and numbers; None leaves it out
    language : language of the words and numbers of the report, such as ``"de"``; names and levels of your table, and
        the card, stay as they are

    Raises
    ------
    TypeError
        If ``model`` is not one of proofwood, or ``path`` is not a path.
    ValueError
        If the rows do not fit the model, an argument is out of range, the model is too large for a report, or the
        ending of ``path`` promises another kind of file.
    OSError
        If the file cannot be written; this is checked before the work begins.
    """
    _require_own(model)
    check_is_fitted(model)
    model = model._as_fitted()
    _require_small(model)
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path is of type {type(path).__name__}: the order is write_report(model, path, X, y)")
    require_page(path)
    require_writable(path)
    require_language(language)
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: pass both, or neither")
    if not isinstance(explain_seconds, (int, float)) or not 0 <= explain_seconds < float("inf"):
        raise ValueError(f"explain_seconds={explain_seconds!r}: expected a finite number of seconds, at least 0")
    training = _rows(model, X, y, "y")
    groups = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
    recounted = _recounted(model, X, y, sample_weight, groups)
    training = replace(training, recounted=recounted)
    validation = None if X_val is None else _rows(model, X_val, y_val, "y_val")
    names = getattr(model, "feature_names_in_", ())
    told = Card.of(card).checked(_answers(model), [str(name) for name in names])
    near = near_part(model, X, y, near_optimal, sample_weight)
    path_of_leaves = path_part(model, X, y, by_leaves, sample_weight)
    options = Options(
        rows=None if rows is None else _row_numbers(rows, training.X.shape[0]),
        title=title,
        palette=palette,
        seconds=float(explain_seconds),
        card=told,
        source=source,
        include_rows=include_rows,
        near=near,
        path=path_of_leaves,
    )
    with speaking(language):
        page = render(content(model, training, validation, options))
    write_whole(path, page.encode())


def render(facts: dict[str, Any]) -> str:
    """The HTML page for the values of :func:`proofwood.report.content.content`."""
    script, style = ((FOLDER / name).read_text(encoding="utf-8") for name in ("script.js", "style.css"))
    facts = {**facts, **{name: Markup(facts[name]) for name in ("picture", "data", "words")}}
    facts["trace"] = {**facts["trace"], "svg": Markup(facts["trace"]["svg"])}
    return (
        templates(FOLDER)
        .get_template("report.html.jinja")
        .render(
            **facts,
            script=Markup(script),
            style=Markup(style),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _rows(model: Any, X: Any, y: Any, name: str) -> Rows:
    """Rows with their classes, or their numbers or rewards."""
    found = Rows(*model._coloured_rows(X, y, name))
    if model.model_.values is None:
        return found
    return replace(found, targets=model._rows_and_targets(X, y, name)[1])


def _answers(model: Any) -> list[str]:
    """The labels that a card can name: classes, or actions."""
    return [] if model._answers is None else [str(label) for label in model._answers]


def _require_own(model: Any) -> None:
    """Raise TypeError unless the model is one of this library."""
    from proofwood.estimators.fitted import FittedModel  # start-up time: the package has write_report at once

    if not isinstance(model, FittedModel):
        raise TypeError(
            f"model is of type {type(model).__name__}: a report is about a fitted model of proofwood, such as "
            "OptimalTreeClassifier, and its proof. Pass the last step of a pipeline, or the best_estimator_ of a search"
        )


def _require_small(model: ProvedClassifier) -> None:
    """Raise ValueError if the model is too large for a report."""
    table = model.model_
    if table.n_nodes > MOST_NODES or table.n_classes > MOST_CLASSES or table.depth > MOST_DEPTH:
        raise ValueError(
            f"the model has {table.n_nodes:,} nodes, {table.n_classes:,} classes and a depth of {table.depth:,}: a "
            f"report shows at most {MOST_NODES:,} nodes, {MOST_CLASSES:,} classes and a depth of {MOST_DEPTH}. Use "
            "export_text() or export_graphviz()"
        )


def _recounted(
    model: ProvedClassifier, X: Any, y: Any, sample_weight: npt.ArrayLike | None, more: dict[str, Any]
) -> float | str:
    """The cost of the model on these rows, or the reason as a text if it cannot be counted."""
    try:
        return float(model.recount(X, y, sample_weight, **more))
    except ValueError as error:  # labels that training did not have, or groups that are not given
        return str(error)


def near_part(model: Any, X: Any, y: Any, given: Any, sample_weight: npt.ArrayLike | None) -> NearOptimalTrees | None:
    """The set of near-optimal trees that the report shows. Raise ValueError if it is not one of this model."""
    if given is None:
        return None
    from proofwood.near_optimal import NearOptimalTrees, near_optimal_trees_of  # start-up time: few reports have it

    near = given if isinstance(given, NearOptimalTrees) else near_optimal_trees_of(model, X, y, given, sample_weight)
    if _shape(near.optimum) != _shape(model):
        raise ValueError("near_optimal is a set of trees of other columns or classes than those of the model")
    _require_set_of(model, near)
    return near


def _require_set_of(model: Any, near: NearOptimalTrees) -> None:
    """Raise ValueError unless the best tree of a set is as good as the model says that one is."""
    best, told = near.optimum, parameter("near_optimal")
    _require_same_rows(model, best, told)
    if model.lower_bound_ <= best.objective_ <= model.objective_:
        return
    costs = f"the best of them costs {figure(best.objective_)}, and the model {figure(model.objective_)}"
    if near.scope:
        raise ValueError(f"{told} counts trees {'; '.join(near.scope)}: {costs}. Leave it out")
    raise ValueError(f"{told} is a set of trees of other parameters: {costs}. Count it with those of the model")


def _require_same_rows(model: Any, other: Any, told: str) -> None:
    """Raise ValueError if another tree was learned from other numbers of rows or weights of classes."""
    counted, own = other.model_, model.model_
    if counted.rows[0] != own.rows[0] or not np.array_equal(counted.weight[0], own.weight[0]):
        raise ValueError(
            f"{told} is about other rows or weights than those of the fit: pass X, y and sample_weight as given to fit"
        )


def path_part(model: Any, X: Any, y: Any, given: Any, sample_weight: npt.ArrayLike | None) -> TreePath | None:
    """The best trees by their leaves that the report shows. Raise ValueError if they are not of this model's table."""
    if given is None:
        return None
    from proofwood.estimators.path_of_tree import tree_path_of  # start-up time: few reports have it
    from proofwood.estimators.tree_path import TreePath

    path = given if isinstance(given, TreePath) else tree_path_of(model, X, y, given, sample_weight)
    if _shape(path.at(1)) != _shape(model):
        raise ValueError("by_leaves is a path of trees of other columns or classes than those of the model")
    _require_same_rows(model, path.at(1), parameter("by_leaves"))
    return path


def _shape(model: Any) -> tuple[list[str], list[str]]:
    """The columns and classes of a model."""
    return [column.name for column in model.schema_.columns], [str(label) for label in getattr(model, "classes_", ())]


def _row_numbers(rows: Iterable[int], n: int) -> list[int]:
    """``rows`` as a list of distinct indices. Raise ValueError unless all are integers from 0 to ``n - 1``."""
    given: list[Any] = list(rows) if isinstance(rows, Iterable) else [rows]
    whole = [isinstance(row, (int, np.integer)) and not isinstance(row, bool) for row in given]
    if not all(whole) or not all(0 <= row < n for row in given):
        raise ValueError(f"rows={rows!r}: expected indices of rows, from 0 to {n - 1}")
    return [int(row) for row in dict.fromkeys(given)]
