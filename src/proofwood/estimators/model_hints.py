"""What a user should know of a fitted model: classes that it never predicts, a useless tree, small leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proofwood.arguments import is_integer
from proofwood.data.columns import Column
from proofwood.data.table_hints import FEW_ROWS
from proofwood.hints import About, Hint
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
    equal = "gives all classes the same weight"
    by_parameter = f"class_weight='balanced' {equal}"
    if "class_weight" not in parameters:
        by_parameter = "sample_weight can give rows of rare classes more weight"
    ways = (by_parameter, f"--class-weight balanced {equal}")
    least = parameters.get("min_samples_leaf", 1)
    if is_integer(least) and 2 * least > rows:
        more = f"allows no test of {rows:,} rows, as each of two leaves needs so many"
        ways = (f"min_samples_leaf={least:,} {more}", f"--min-samples-leaf {least:,} {more}")
    if predicted.size == 1 and len(labels) > 1:
        only = labels[int(predicted[0])]
        wrong = float(weights.sum() - weights[predicted[0]])
        seen = f"the model always predicts {only!r} (wrong for {wrong:g} of {weights.sum():g} in training weight)"
        hints.append(Hint(About.BASELINE, (), seen, *ways))
    elif absent:
        names = [f"{labels[code]!r} ({weights[code]:g} of {weights.sum():g} in training weight)" for code in absent]
        hints.append(Hint(About.CLASSES, (), f"no leaf predicts {shown(names, 3, str)}", *ways))
    small = int(np.count_nonzero(table.rows[leaves] <= SMALL_LEAF))
    if small and table.is_tree and predicted.size > 1:
        seen = (
            f"{small} {'leaf has' if small == 1 else 'leaves have'} at most {SMALL_LEAF} training rows, too few to say "
            "much about new rows"
        )
        if "min_samples_leaf" in parameters:
            more = "asks for more rows in each leaf"
            hints.append(Hint(About.LEAVES, (), seen, f"min_samples_leaf=20 {more}", f"--min-samples-leaf 20 {more}"))
        else:
            hints.append(Hint(About.LEAVES, (), seen))
    return hints


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
    told = "; ".join(f"{shown(values, 5)} in {name!r}" for name, values in absent.items())
    return [Hint(About.GAPS, tuple(absent), f"read as missing values, also in new rows: {told}")]
