"""What a user should know of a fitted model: classes that it never predicts, a useless tree, small leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proofwood.arguments import is_integer
from proofwood.data.columns import Column
from proofwood.data.table_hints import FEW_ROWS
from proofwood.hints import About, Hint
from proofwood.language import gettext, ngettext, number
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.printable import shown

SMALL_LEAF = 5
"""Training rows of a leaf that say little about new rows."""


def model_hints(table: NodeTable, labels: Sequence[Any], parameters: Mapping[str, Any]) -> list[Hint]:
    """Hints about a model; none if it was learned from few rows.

    Parameters
    ----------
    table : the model
    labels : of its classes
    parameters : of its learner, by name
    """
    rows, weights = int(table.rows[0]), table.weight[0]
    if rows <= FEW_ROWS:
        return []
    hints = []
    leaves = table.feature == LEAF
    predicted = np.unique(table.label[leaves])
    absent = [code for code in range(len(labels)) if code not in predicted and weights[code] > 0]
    by_parameter = gettext("class_weight='balanced' gives all classes the same weight")
    if "class_weight" not in parameters:
        by_parameter = gettext("sample_weight can give rows of rare classes more weight")
    ways = (by_parameter, gettext("--class-weight balanced gives all classes the same weight"))
    if parameters.get("criterion") == "precision":  # no weights of classes change which tree is most precise
        ways = (
            gettext("a smaller min_recall permits a tree that predicts it less often"),
            gettext("a smaller --min-recall permits a tree that predicts it less often"),
        )
    least = parameters.get("min_samples_leaf", 1)
    if is_integer(least) and 2 * least > rows:
        why = gettext("allows no test of %(n)s rows, as each of two leaves needs so many", n=number(f"{rows:,}"))
        ways = (f"min_samples_leaf={least:,} {why}", f"--min-samples-leaf {least:,} {why}")
    if predicted.size == 1 and len(labels) > 1:
        only = labels[int(predicted[0])]
        wrong = float(weights.sum() - weights[predicted[0]])
        seen = gettext(
            "the model always predicts %(label)s (wrong for %(n_wrong)s of %(n)s in training weight)",
            label=repr(only),
            n_wrong=number(f"{wrong:g}"),
            n=number(f"{weights.sum():g}"),
        )
        hints.append(Hint(About.BASELINE, (), seen, *ways))
    elif absent:
        total = number(f"{weights.sum():g}")
        names = [
            gettext(
                "%(label)s (%(n_rare)s of %(n)s in training weight)",
                label=repr(labels[code]),
                n_rare=number(f"{weights[code]:g}"),
                n=total,
            )
            for code in absent
        ]
        seen = gettext("no leaf predicts %(classes)s", classes=shown(names, 3, str))
        hints.append(Hint(About.CLASSES, (), seen, *ways))
    if predicted.size > 1:
        hints += small_leaves(table, parameters)
    return hints


def small_leaves(table: NodeTable, parameters: Mapping[str, Any]) -> list[Hint]:
    """A hint about leaves of a tree that hold few rows; none if it was learned from few rows.

    Parameters
    ----------
    table : the model
    parameters : of its learner, by name
    """
    small = int(np.count_nonzero(table.rows[table.feature == LEAF] <= SMALL_LEAF))
    if not small or not table.is_tree or table.rows[0] <= FEW_ROWS:
        return []
    seen = ngettext(
        "%(n)s leaf has at most %(few)s training rows, too few to say much about new rows",
        "%(n)s leaves have at most %(few)s training rows, too few to say much about new rows",
        small,
        few=SMALL_LEAF,
    )
    if "min_samples_leaf" not in parameters:
        return [Hint(About.LEAVES, (), seen)]
    todo = gettext("min_samples_leaf=20 asks for more rows in each leaf")
    option = gettext("--min-samples-leaf 20 asks for more rows in each leaf")
    return [Hint(About.LEAVES, (), seen, todo, option)]


def reading_hints(table: NodeTable, columns: Sequence[Column]) -> list[Hint]:
    """A hint about values that the model reads as missing, in columns that it tests.

    Parameters
    ----------
    table : the model
    columns : of the training data
    """
    used = sorted(table.tested_columns)
    absent = {columns[j].name: columns[j].absent for j in used if j < len(columns) and columns[j].absent}
    if not absent:
        return []
    told = "; ".join(
        gettext("%(values)s in %(column)s", values=shown(values, 5), column=repr(name))
        for name, values in absent.items()
    )
    return [
        Hint(About.GAPS, tuple(absent), gettext("read as missing values, also in new rows: %(values)s", values=told))
    ]
