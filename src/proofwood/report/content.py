"""The content of a report, as plain values and texts; the template only arranges them.

What stands where, and why: decisions/0087-the-report-that-is-handed-on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_CEILING
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood import __version__
from proofwood.hints import Hint
from proofwood.language import day, gettext, ngettext, number, retold, spoken
from proofwood.model import evaluate
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.printable import printable, shown
from proofwood.report import charts, columns, errors, numbers, survival, what_if
from proofwood.report.card import Card
from proofwood.report.errors import CountedRows
from proofwood.report.explanations import Answers, explained_rows, of_actions
from proofwood.report.explanations import of_classes as classes_of
from proofwood.report.explanations import of_numbers as numbers_of
from proofwood.report.leaves import leaves_parts
from proofwood.report.measures import measured
from proofwood.report.near import near_parts
from proofwood.report.numbers import NumberedRows
from proofwood.report.proof import call, proof_parts, trace_parts
from proofwood.report.rows import MOST_ROWS, default_rows, row_data
from proofwood.report.survival import TimedRows
from proofwood.report.words import Words, and_all, at_name, count, share
from proofwood.result import figure
from proofwood.show.colouring import Colouring, leaf_codes
from proofwood.show.labels import percent, wrong_weight
from proofwood.show.palette import Palette, class_colours, hexadecimal
from proofwood.show.spread import node_counts, spreads
from proofwood.show.svg import model_svg

if TYPE_CHECKING:
    from proofwood.estimators.classifier import ProvedClassifier
    from proofwood.estimators.tree_path import TreePath
    from proofwood.near_optimal import NearOptimalTrees

MOST_RULES = 400
MOST_NAMED = 8
"""Most classes that the front page names."""
FEW_LEAF, FEWEST_LEAF = 30, 5
"""Training rows of a leaf below which its shares say little, and up to which a model itself has a hint."""
TWO = ("#b8470f", "#5b87ad"), ("#f08a4b", "#7aa9d0")
"""Colours of two classes, on a light and on a dark ground: the class that is asked about, and the other."""


@dataclass(frozen=True)
class Rows:
    """Rows with their classes, numbers or rewards.

    Parameters
    ----------
    X : (n_rows, n_columns) numbers, with the level codes of the training data
    codes : (n_rows,) class codes; ``n_classes`` for a class that training did not have; for numbers and rewards the
        codes of colours, see :mod:`proofwood.show.colouring`
    recounted : cost of the model on these rows; None if not counted; a text with the reason if it cannot be counted
    targets : (n_rows, k) numbers or rewards; None for classes
    name : what a page calls these rows
    """

    X: FloatArray
    codes: IntArray
    recounted: float | str | None = None
    targets: FloatArray | None = None
    name: str = ""


NO_CARD = Card()


@dataclass(frozen=True)
class Options:
    """What the caller of a report asked for.

    Parameters
    ----------
    rows : indices of the training rows to explain; None for none
    title : title of the report
    palette : colours of the classes
    seconds : time limit for all explanations
    card : what people say of the model
    source : file with the training rows
    include_rows : whether the page holds training rows, to find and to explain
    near : the trees that are nearly as good
    path : the best trees by their number of leaves
    """

    rows: Sequence[int] | None = None
    title: str | None = None
    palette: Palette | None = None
    seconds: float = 0.0
    card: Card = NO_CARD
    source: str | os.PathLike[str] | None = None
    include_rows: bool = False
    near: NearOptimalTrees | None = None
    path: TreePath | None = None


def content(model: ProvedClassifier, training: Rows, validation: Rows | None, options: Options) -> dict[str, Any]:
    """The values that the template of a report shows, by name.

    Parameters
    ----------
    model : fitted model
    training, validation : rows of the report
    options : what the report should have
    """
    table, labels, card = model.model_, model._names(), options.card
    words, kind = Words(table, labels), "tree" if table.is_tree else "diagram"
    tested = sorted(table.tested_columns)
    made = of_classes if table.values is None else of_times if hasattr(model, "curves_") else of_numbers
    proof = proof_parts(model, training.recounted)
    # that the cost is equal is all that can be known: a model keeps no rows
    training = replace(training, name=gettext("training rows") if proof["agrees"] else gettext("rows of the report"))
    part = made(model, words, training, validation, options)
    rows_of_page = part.pop("row_data")
    return {
        "language": spoken(),
        "title": printable(options.title or card.title or _title(model, kind)),
        "kind": kind,
        "target": words.target,
        "card": card,
        "loaded": bool(getattr(model, "loaded_", False)),
        "model_line": model._describe_model(),
        "facts": [f"{name}: {text}" for name, text in model._facts()],
        "about": _about(model, training, words, card, options.source, part.pop("says")),
        "lead": _lead(table, validation, options.source if proof["agrees"] else None),
        "hints": [*map(_hint, (*model.hints_, *model.notes())), *_leaf_hints(table, part.pop("of_few"))],
        "validation": None if model.validation_ is None else str(model.validation_),
        "cross_validated": model._cross_validated,
        **part,
        "picture": model_svg(
            table,
            labels,
            palette=part["palette"],
            dashed=model._dashed,
            name=_picture_name(table),
            asked=[words.node(node) for node in range(table.n_nodes)],
            spreads=spreads(table, labels, training.X, training.codes),
            fresh=part["new_counts"],
        ),
        "nodes": [_node(table, words, node, part["counts"][node]) for node in range(table.n_nodes)],
        "has_new": validation is not None,
        "seen_name": training.name,
        "proof": proof,
        "columns": columns.described(model.schema_, table, words, card, tested),
        "trace": trace_parts(model.result_),
        "sums": columns.sums(model.schema_, table),
        "near": near_parts(options.near, words, tested),
        "by_leaves": leaves_parts(options.path, table.n_leaves),
        "include_rows": options.include_rows,
        "total_rows": training.X.shape[0],
        "most_rows": MOST_ROWS,
        "words": script_json(spoken().for_script()),
        "data": script_json(
            {
                "kind": kind,
                "target": words.target,
                "answers": part["answers"],
                "classes": part["words_of"],
                "nodes": what_if.nodes(words, tested, part["counts"], part["new_counts"], part["leaf_facts"]),
                "columns": what_if.columns(
                    words, model.schema_, card, tested, training.X, unseen=model.unseen == "majority"
                ),
                "reasons": table.normals is None and what_if.ways(table) <= what_if.MOST_WAYS,
                **what_if.asked(table),
                "rows": rows_of_page,
            }
        ),
    }


def of_classes(
    model: ProvedClassifier, words: Words, training: Rows, validation: Rows | None, options: Options
) -> dict[str, Any]:
    """The values that only models of classes have; parameters as in :func:`content`."""
    table, card = words.table, options.card
    seen, fresh = _seen(table, training), None if validation is None else _seen(table, validation)
    event = _event(table, words, card)
    order = [event, *(code for code in range(table.n_classes) if code != event)]
    light, dark = _colours(table, words, event, options.palette)
    tested = sorted(table.tested_columns)
    best = fresh or seen  # figures are about new rows where there are any
    names = [words.class_name(code) for code in range(table.n_classes)]
    shares = evaluate.node_probabilities(table)

    def share_of(node: int) -> str:
        return f"{percent(float(shares[node, table.label[node]]))} {names[table.label[node]]}"

    return {
        "answers": "classes",
        "says": _named(words),
        "of_few": gettext("shares of so few say little"),
        "headline": errors.headline(table, seen, fresh, model.validation_, weighted=model._has_weights),
        "common": words.class_name(int(np.argmax(table.weight[0]))),
        "classes": _class_figures(model, words, fresh, seen, order, training.name),
        "words_of": names,
        "chips": [(code, names[code], card.classes.get(_label(words, code), "")) for code in order],
        "palette": light,
        "light": light,
        "dark": dark,
        "counts": [_counts(table, words, node) for node in range(table.n_nodes)],
        "new_counts": None if fresh is None else fresh.counts,
        "leaf_facts": what_if.class_facts(table),
        "outline": _outline(words, table.weight, table.label, order, share_of) if table.is_tree else None,
        "rules": _rules(words, _rule_facts(table, fresh)) if table.is_tree else None,
        "confusions": [
            *([] if fresh is None else [errors.confusion(words, fresh, order, gettext("new rows"))]),
            errors.confusion(words, seen, order, training.name),
        ],
        "curves": errors.curves(words, best, event),
        "calibration": "" if fresh is None else errors.calibration(words, fresh, event),
        "matter": errors.columns_that_matter(words, best, tested),
        "groups": errors.groups(words, model.schema_, best, _group_columns(words, card)),
        **_explained(model, words, classes_of(words, training.codes), training, options),
    }


def _explained(
    model: Any,
    words: Words,
    answers: Answers,
    training: Rows,
    options: Options,
    truths: Callable[[int], str] | None = None,
) -> dict[str, Any]:
    """The explained rows, and the rows that the page holds."""
    table = words.table
    chosen = list(options.rows or ())
    if options.rows is None and options.include_rows:
        chosen = default_rows(answers.code[model_leaves(table, training.X)], training.codes)
    told, note = explained_rows(model, words, answers, training.X, chosen, options.seconds)
    rows = None
    if options.include_rows:
        left_out = list(model.schema_.left_out)
        rows = row_data(table, words, training.X, training.codes, chosen, left_out, truths)
    return {"explained": told, "explained_note": note, "row_data": rows}


def of_numbers(model: Any, words: Words, training: Rows, validation: Rows | None, options: Options) -> dict[str, Any]:
    """The values of models of numbers and of policies; parameters as in :func:`content`."""
    table, tested = words.table, sorted(words.table.tested_columns)
    seen, fresh = _numbered(table, training), None if validation is None else _numbered(table, validation)
    best = fresh or seen
    shown_as = Colouring.of(table, words.labels, options.palette)
    colours, names = [hexadecimal(one) for one in shown_as.colours], numbers.code_names(table, words)
    policy = numbers.is_policy(table)
    weights = shown_as.shares * table.weight.sum(axis=1)[:, np.newaxis]

    def told(node: int) -> str:
        return numbers.line(table, words, node)

    def truths(row: int) -> str:
        return numbers.told(float(seen.targets[row, 0]))

    return {
        "answers": "actions" if policy else "numbers",
        "says": _named(words) if policy else _between(table, gettext("numbers, from %(low)s to %(high)s")),
        "of_few": gettext("means of so few say little"),
        "headline": numbers.headline(model, seen, fresh),
        "value_bound": number(figure(model.value_bound_, ROUND_CEILING, 5)) if policy else "",
        "beside": numbers.beside(words, seen, fresh, model.validation_, training.name),
        "words_of": names,
        "chips": [(code, name, options.card.classes.get(name, "")) for code, name in enumerate(names)],
        "palette": options.palette,
        "light": colours,
        "dark": colours,
        "counts": [numbers.counts(table, words, node) for node in range(table.n_nodes)],
        "new_counts": None,
        "leaf_facts": numbers.leaf_facts(words, shown_as.code, fresh),
        "outline": _outline(words, weights, shown_as.code, list(range(len(names))), told),
        "rules": _rules(words, numbers.rule_facts(words, shown_as.code, seen, fresh)),
        "leaves_figure": "" if policy else numbers.leaves_figure(words, best),
        "by_leaf": numbers.by_leaf(words, best),
        "matter": numbers.columns_that_matter(words, best, tested),
        **_explained(
            model,
            words,
            of_actions(words, training.codes) if policy else numbers_of(words, names, truths),
            training,
            options,
            None if policy else truths,
        ),
    }


def of_times(model: Any, words: Words, training: Rows, validation: Rows | None, options: Options) -> dict[str, Any]:
    """The values of models of survival times; parameters as in :func:`content`."""
    table, tested = words.table, sorted(words.table.tested_columns)
    seen, fresh = (
        None if rows is None or rows.targets is None else TimedRows(table, rows.X, rows.targets, model.curves_)
        for rows in (training, validation)
    )
    assert seen is not None
    best = fresh or seen
    shown_as = Colouring.of(table, words.labels, options.palette)
    colours, names = [hexadecimal(one) for one in shown_as.colours], survival.code_names(table)
    weights = shown_as.shares * table.weight.sum(axis=1)[:, np.newaxis]

    def told(node: int) -> str:
        return survival.line(table, words, node)

    return {
        "answers": "times",
        "says": _between(table, gettext("events per unit of time, from %(low)s to %(high)s")),
        "of_few": gettext("curves of so few say little"),
        "headline": survival.headline(model, seen, fresh),
        "beside": survival.beside(seen, fresh, model.validation_, training.name),
        "words_of": names,
        "chips": [],
        "palette": options.palette,
        "light": colours,
        "dark": colours,
        "counts": [survival.counts(table, words, node) for node in range(table.n_nodes)],
        "new_counts": None,
        "leaf_facts": survival.leaf_facts(words, shown_as.code, seen, fresh),
        "outline": _outline(words, weights, shown_as.code, list(range(len(names))), told),
        "rules": _rules(words, survival.rule_facts(words, shown_as.code, seen, fresh)),
        "leaves_figure": survival.curves_figure(words, shown_as.code, seen, fresh),
        "by_leaf": survival.by_leaf(words, seen, fresh),
        "matter": survival.columns_that_matter(words, best, tested),
        **_explained(model, words, numbers_of(words, names, seen.told), training, options, seen.told),
    }


def _numbered(table: NodeTable, rows: Rows) -> NumberedRows:
    assert rows.targets is not None
    return NumberedRows(table, rows.X, rows.targets)


def model_leaves(table: NodeTable, X: FloatArray) -> IntArray:
    """(n_rows,) node index of the leaf of each row."""
    return table.walker.leaves(np.ascontiguousarray(X))


def script_json(value: Any) -> str:
    """``value`` as JSON that is safe inside a ``script`` element, for any texts in it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII, so that no Unicode separator ends a line
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _seen(table: NodeTable, rows: Rows) -> CountedRows:
    return CountedRows(rows.X, rows.codes, node_counts(table, rows.X, rows.codes), measured(table, rows.X, rows.codes))


# ------------------------------------------------------------------------------------------------- the front page


def _label(words: Words, code: int) -> str:
    classes = words.labels.classes
    return str(code if classes is None else classes[code])


def _event(table: NodeTable, words: Words, card: Card) -> int:
    """The class that is asked about: that of the card, or the rarer of two, or the most frequent of more."""
    if card.event is not None:
        return [_label(words, code) for code in range(table.n_classes)].index(card.event)
    weight = table.weight[0]
    return int(np.argmin(weight)) if table.n_classes == 2 else int(np.argmax(weight))


def _colours(table: NodeTable, words: Words, event: int, palette: Palette | None) -> tuple[list[str], list[str]]:
    """The colour of each class, on a light and on a dark ground. Of two classes, the one asked about is warm."""
    if palette is None and table.n_classes == 2:
        return tuple([pair[int(code != event)] for code in range(2)] for pair in TWO)  # type: ignore[return-value]
    colours = [hexadecimal(one) for one in class_colours(table.n_classes, palette, words.labels.classes)]
    return colours, colours


def _title(model: ProvedClassifier, kind: str) -> str:
    target, name = model.target_name_, type(model).__name__
    if kind == "tree":
        return (
            gettext("A tree of %(name)s", name=name) if target is None else _says(target, gettext("what a tree says"))
        )
    if target is None:
        return gettext("A diagram of %(name)s", name=name)
    return _says(target, gettext("what a diagram says"))


def _says(target: str, what: str) -> str:
    return f"{target}: {what}"


def _picture_name(table: NodeTable) -> str:
    n = table.n_nodes
    keys = gettext("Arrow keys move between nodes, Enter folds.")
    if table.is_tree:
        return ngettext("The tree: %(n)s node.", "The tree: %(n)s nodes.", n) + " " + keys
    return ngettext("The diagram: %(n)s node.", "The diagram: %(n)s nodes.", n) + " " + keys


def _hint(hint: Hint) -> str:
    """A hint in the language of the report; what is kept with a model is English."""
    return ": ".join(map(retold, hint.parts))


def _lead(table: NodeTable, validation: Rows | None, source: str | os.PathLike[str] | None) -> str:
    """What the model learned from; ``source`` is None if the rows of the report are not those of training."""
    rows, more = int(table.rows[0]), {} if source is None else {"file": Path(source).name}
    if source is None:
        line = ngettext("It learned from %(n)s row", "It learned from %(n)s rows", rows)
    else:
        line = ngettext("It learned from %(n)s row of %(file)s", "It learned from %(n)s rows of %(file)s", rows, **more)
    if validation is not None:
        line += ngettext(
            ", and was then tried on %(n)s row that it had not seen",
            ", and was then tried on %(n)s rows that it had not seen",
            validation.codes.size,
        )
    return printable(line + ".")


def _about(
    model: ProvedClassifier, training: Rows, words: Words, card: Card, source: str | os.PathLike[str] | None, says: str
) -> list[tuple[str, str, str]]:
    """What a reader who was not there should know: name, text, and a note in small print."""
    table = model.model_
    tested, gaps = len(table.tested_columns), int(np.isnan(training.X).sum())
    missing = "; " + ngettext("%(n)s cell missing", "%(n)s cells missing", gaps) if gaps else ""
    file = (gettext("not named"), "") if source is None else (printable(Path(source).name), _digest(Path(source)))
    found = [
        (
            gettext("Predicts"),
            words.target or gettext("not named"),
            says,
        ),
        (gettext("File"), *file),
        (gettext("Rows"), number(f"{int(table.rows[0]):,}"), gettext("in training")),
        (
            gettext("Columns"),
            number(f"{training.X.shape[1]:,}"),
            ngettext("%(n)s tested", "%(n)s tested", tested) + missing,
        ),
        (gettext("Made on"), day(datetime.now().astimezone()), f"proofwood {__version__}"),
        (gettext("Version"), card.version or gettext("not said"), ""),
        (gettext("Author"), card.author or gettext("not said"), ""),
        (gettext("Learner"), type(model).__name__, _limits(model)),
    ]
    return [(name, printable(text), printable(note)) for name, text, note in found]


def _between(table: NodeTable, message: str) -> str:
    """A message with the least and the greatest number that leaves predict."""
    answers = leaf_codes(table)[0]
    low, high = (numbers.told(float(end)) for end in (answers[0], answers[-1]))
    return message % {"low": low, "high": high}


def _named(words: Words) -> str:
    """What the model predicts: so many classes, or one of some actions."""
    table = words.table
    names = [words.class_name(code) for code in range(table.n_labels)]
    classes = shown(names, MOST_NAMED, str)
    if table.values is not None:
        return ngettext("%(n)s action: %(actions)s", "%(n)s actions: %(actions)s", len(names), actions=classes)
    return ngettext("%(n)s class: %(classes)s", "%(n)s classes: %(classes)s", len(names), classes=classes)


def _digest(path: Path) -> str:
    """The beginning of the SHA-256 digest of a file, by which a reader can tell whether it is the same."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return f"SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()[:16]}…"


def _limits(model: ProvedClassifier) -> str:
    """The parameters of the learner that are not the defaults."""
    arguments = call(model).partition("(")[2].removesuffix(")")
    return arguments if len(arguments) <= 120 else arguments[:119] + "…"


def _leaf_hints(table: NodeTable, what: str) -> list[str]:
    """A hint about leaves with few training rows; hints of the model name those with very few.

    ``what`` says what is true of few rows.
    """
    rows = table.rows[table.feature == LEAF]
    small = int(np.count_nonzero(rows < FEW_LEAF))
    if not np.any((rows > FEWEST_LEAF) & (rows < FEW_LEAF)) or int(table.rows[0]) < 2 * FEW_LEAF:
        return []
    return [
        ngettext(
            "%(n)s of %(n_all)s leaves has fewer than %(few)s training rows: %(what)s",
            "%(n)s of %(n_all)s leaves have fewer than %(few)s training rows: %(what)s",
            small,
            n_all=number(f"{table.n_leaves:,}"),
            few=FEW_LEAF,
            what=what,
        )
    ]


def _class_figures(
    model: ProvedClassifier,
    words: Words,
    fresh: CountedRows | None,
    seen: CountedRows,
    order: Sequence[int],
    seen_name: str,
) -> dict[str, Any]:
    """Recall and precision by class, on the newest rows there are."""
    if fresh is None and model.validation_ is not None:
        return errors.class_table(words, None, model.validation_, order)
    found = errors.class_table(words, fresh or seen, None, order, ends=fresh is not None)
    return {**found, "where": seen_name if fresh is None else gettext("new rows")}


# ------------------------------------------------------------------------------------------------------ the model


def _counts(table: NodeTable, words: Words, node: int, most: int = 6) -> list[tuple[str, str, str]]:
    """Name, weight and share of the classes at a node, heaviest first; classes beyond ``most`` are summed up."""
    weight = table.weight[node]
    total = float(weight.sum()) or 1.0
    order = np.argsort(-weight, kind="stable")[:most]
    found = [
        (words.class_name(code), count(float(weight[code])), share(float(weight[code]) / total))
        for code in order.tolist()
        if weight[code] > 0
    ]
    rest = int(np.count_nonzero(weight)) - len(found)
    if rest > 0:
        left = total - float(weight[order].sum())
        name = ngettext("%(n)s more class", "%(n)s more classes", rest)
        found.append((name, count(left), share(left / total)))
    return found


def _node(table: NodeTable, words: Words, node: int, counts: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    leaf = bool(table.feature[node] == LEAF)
    return {
        "number": node,
        "leaf": leaf,
        "asks": words.asks(node),
        "if": "" if leaf else words.answer(node, low=True, levels=None),
        "low": int(table.low[node]),
        "high": int(table.high[node]),
        "rows": number(f"{int(table.rows[node]):,}"),
        "n_rows": int(table.rows[node]),
        "wrong": count(wrong_weight(table, node)) if leaf and table.values is None else "",
        "counts": ", ".join(f"{name} {weight}" for name, weight, _ in counts),
    }


def _outline(
    words: Words, weights: FloatArray, codes: IntArray, order: Sequence[int], told: Callable[[int], str]
) -> list[dict[str, Any]]:
    """The lines of the tree as nested lists, from the root down: each with what a list opens or closes around it.

    Parameters
    ----------
    words : the model
    weights : (n_nodes, n_codes) weight of each answer at each node
    codes : (n_nodes,) answer of each leaf
    order : the answers in the order of a strip
    told : function that says what is known of a node
    """
    table = words.table
    found: list[dict[str, Any]] = []
    pending: list[tuple[int, str, int]] = [(0, gettext("All rows"), 0)]
    while pending:
        node, says, depth = pending.pop()
        leaf = bool(table.feature[node] == LEAF)
        found.append(
            {
                "node": node,
                "says": says,
                "depth": depth,
                "label": int(codes[node]) if leaf else None,
                "rows": number(f"{int(table.rows[node]):,}"),
                "share": told(node),
                "svg": charts.strip(weights[node].tolist(), order),
            }
        )
        if not leaf:
            for low, child in ((False, table.high[node]), (True, table.low[node])):
                pending.append((int(child), words.answer(node, low=low), depth + 1))
    for k, line in enumerate(found):
        after = found[k + 1]["depth"] if k + 1 < len(found) else 0
        line["closes"] = max(0, line["depth"] - after)
    return found


def _rules(words: Words, facts: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """The rules with their words; ``facts`` says what is known of a leaf."""
    found, whole = words.rules(MOST_RULES), words.rules(MOST_RULES, levels=None)
    return {
        "shown": [
            {
                "no": k + 1,
                "if": [at_name(condition, words.tested_names) for condition in conditions],
                "then": words.asks(node),
                "node": node,
                "whole": and_all(names) if names != conditions else "",
                **facts(node),
            }
            for k, ((conditions, node), (names, _)) in enumerate(zip(found, whole, strict=True))
        ],
        "more": words.table.n_leaves - len(found),
    }


def _rule_facts(table: NodeTable, fresh: CountedRows | None) -> Callable[[int], dict[str, Any]]:
    """How right the class of a leaf is in training, and on new rows."""

    def facts(node: int) -> dict[str, Any]:
        weight, label = table.weight[node], int(table.label[node])
        right = float(weight[label]) / (float(weight.sum()) or 1.0)
        rule = {
            "code": label,
            "rows": int(table.rows[node]),
            "share": right,
            "right": percent(right),
            "wrong": count(wrong_weight(table, node)),
        }
        if fresh is None:
            return rule
        n, hits = int(fresh.counts[node].sum()), int(fresh.counts[node, label])
        ends = errors.interval_text(hits, n) if n else gettext("no rows")
        return {
            **rule,
            "new": n,
            "new_share": hits / n if n else -1.0,
            "new_right": percent(hits / n) if n else "–",
            "ends": ends,
        }

    return facts


def _group_columns(words: Words, card: Card) -> list[int] | None:
    if not card.groups:
        return None
    names = [str(name) for name in words.labels.features or ()]
    return [names.index(name) for name in card.groups]
