"""The part of a report that says what fewer and more leaves cost: decisions/0098-fronts-by-leaves."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

import numpy as np

from proofwood.estimators.tree_path import TreeOfPath, TreePath
from proofwood.language import gettext, ngettext, number, retold
from proofwood.report import charts
from proofwood.result import Status, figure
from proofwood.show.labels import percent


def leaves_parts(path: TreePath | None, n_leaves: int) -> dict[str, Any] | None:
    """What the part says, by name; None without a path.

    Parameters
    ----------
    path : the best trees by their number of leaves
    n_leaves : of the model
    """
    if path is None:
        return None
    of, trees = path.at(1), list(path)
    proved = [tree for tree in trees if tree.status is not Status.FEASIBLE]
    rounding = max((tree.objective - tree.lower_bound for tree in proved), default=0.0)
    return {
        "depth": of.max_depth,
        "unit": gettext(of.result_.unit),
        "classes": hasattr(of, "classes_"),
        "folds": trees[0].fold_errors.size,
        "chosen": path.chosen,
        "n_proved": len(proved),
        "rounding": number(figure(rounding, ROUND_CEILING, 1)) if rounding else "",
        "scope": "; ".join(map(retold, path.scope)),
        "n_all": len(trees),
        "trees": [_line(tree, path, n_leaves) for tree in trees],
    }


def _line(tree: TreeOfPath, path: TreePath, n_leaves: int) -> dict[str, Any]:
    """A number of leaves."""
    first = path[0]
    open_ = tree.status is Status.FEASIBLE
    line = {
        "leaves": ngettext("%(n)s leaf", "%(n)s leaves", tree.leaves),
        "here": tree.leaves == n_leaves,
        "svg": charts.bar_line(tree.objective, 0.0, 0.0, first.objective),
        "cost": number(figure(tree.objective)),
        "bound": gettext("at least %(n)s", n=number(figure(tree.lower_bound, ROUND_FLOOR))) if open_ else "",
    }
    if not tree.fold_errors.size:
        return line
    mean, error = float(tree.fold_errors.mean()), _standard_error(tree)
    alone = float(first.fold_errors.mean())
    top = max(float(one.fold_errors.mean()) + _standard_error(one) for one in path) or 1.0
    ends = max(0.0, mean - error), mean + error
    return line | {
        "chosen": tree.leaves == path.chosen,
        "dot": charts.dot_line(mean, ends, alone, top),
        "held_out": percent(mean, 1),
    }


def _standard_error(tree: TreeOfPath) -> float:
    """Of the mean over folds."""
    errors = tree.fold_errors
    return float(np.std(errors, ddof=1)) / math.sqrt(errors.size) if errors.size > 1 else 0.0
