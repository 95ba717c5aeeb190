"""One run of one learner in a task beyond the papers: plain values in, plain values out.

What a learner returns is counted again from its predictions, in the units of the page, and its first call, which may
compile or load, is not measured.
"""

from __future__ import annotations

import gc
import math
import os
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks import cases
from benchmarks.harness import measure
from benchmarks.rivals import Settings, get, package

Array = npt.NDArray[Any]
Outcome = dict[str, Any]
FEW = 40
"""Rows of the first call."""
ROUNDING = 1e-9
"""Share of the cost that rounding may leave open in a proof."""


def _measured(first: Callable[[], object], run: Callable[[], Any]) -> tuple[Any, Outcome]:
    """What ``run`` returns, after a call of ``first``, and its CPU seconds and memory."""
    with warnings.catch_warnings(), _silent():
        warnings.simplefilter("ignore")  # a limit is seen in the status
        first()
        gc.collect()
        found, cost = measure(run)
    return found, {"cpu": cost.cpu, "wall": cost.wall, "peak_mb": cost.peak_mb}


@contextmanager
def _silent() -> Any:
    """Without the lines that native code of rivals prints: the outcome is the last line of the output."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept), os.close(nowhere)


def _status(proved: object) -> str:
    return "optimal" if proved else "feasible"


def _head(y: Array) -> Array:
    """A few rows, spread over the table."""
    return np.unique(np.linspace(0, len(y) - 1, FEW, dtype=np.int64))


# ----------------------------------------------------------------------------------------------- a price without depth


def no_depth(*, case: str, learner: str, alpha: float, seconds: float) -> Outcome:
    """Errors and ``alpha`` times the rows for each leaf, least over trees of every depth."""
    X, y = cases.load(case)
    price, head = alpha * len(y), _head(y)
    if learner == "imodels":
        made = package("imodels", "imodels>=3.0.4").FastSmallTreeClassifier
        model, outcome = _measured(
            lambda: made(regularization=0.1, time_limit=5.0).fit(X[head], y[head]),
            lambda: made(regularization=alpha, time_limit=seconds).fit(X, y),
        )
        leaves, bound, proved = model.n_leaves_, model.lowerbound_ * len(y), model.stop_reason_ == "optimal"
        predicted = model.predict(X)
    elif learner == "gosdt":
        gosdt = package("gosdt", "gosdt>=1.0.4")
        made = gosdt.GOSDTClassifier
        # It takes 0/1 columns alone, and has a binarizer of its own, a column for each threshold.
        tests = gosdt.NumericBinarizer().fit(X) if len(np.unique(X)) > 2 else None

        def columns(rows: Array) -> npt.NDArray[np.bool_]:
            return (rows if tests is None else tests.transform(rows)).astype(bool)

        asked = {"regularization": alpha, "allow_small_reg": True, "time_limit": math.ceil(seconds)}
        model, outcome = _measured(
            lambda: made(regularization=0.1).fit(columns(X[head]), y[head]),
            lambda: made(**asked).fit(columns(X), y),
        )
        predicted, leaves = model.trees_[0].predict(columns(X)), _leaves_of(model.trees_[0].tree)
        bound, proved = model.result_.lowerbound * len(y), model.result_.status.name == "CONVERGED"
    else:
        from proofwood import OptimalTreeClassifier

        model, outcome = _measured(
            lambda: OptimalTreeClassifier(max_depth=None, alpha=0.1).fit(X[head], y[head]),
            lambda: OptimalTreeClassifier(max_depth=None, alpha=alpha, time_limit=seconds, n_jobs=1).fit(X, y),
        )
        leaves, bound, proved = model.get_n_leaves(), model.lower_bound_ + price, model.result_.status == "optimal"
        predicted = model.predict(X)
    errors = int(np.count_nonzero(predicted != y))
    objective = errors + price * leaves
    return {"objective": objective, "bound": bound, "size": leaves, "status": _status(proved), **outcome}


def _leaves_of(node: Any) -> int:
    """Leaves of a tree of GOSDT."""
    return _leaves_of(node.left_child) + _leaves_of(node.right_child) if hasattr(node, "feature") else 1


# ------------------------------------------------------------------------------------------- fewest errors of a depth


def bits(*, case: str, learner: str, depth: int, seconds: float) -> Outcome:
    """Fewest errors of a tree of a depth over 0/1 columns."""
    X, y = cases.load(case)
    head = _head(y)
    if learner == "pystreed":
        made = package("pystreed", "pystreed>=1.4").STreeDClassifier
        model, outcome = _measured(
            lambda: made(max_depth=1).fit(X[head], y[head].astype(np.int32)),
            lambda: made(max_depth=depth, time_limit=seconds).fit(X, y.astype(np.int32)),
        )
        predicted, bound, proved = model.predict(X), None, model.fit_result.is_optimal()
    elif learner == "pytrees-rs":
        made = package("pytrees", "pytrees-rs>=2.0").DL85Classifier
        narrow = X.astype(bool)
        model, outcome = _measured(
            lambda: made(max_depth=1).fit(narrow[head], y[head]),
            lambda: made(max_depth=depth, max_time=seconds).fit(narrow, y),
        )
        predicted, bound, proved = model.predict(narrow), None, model.status_ == "optimal"
    elif learner == "pydl8.5":
        made = package("pydl85", "pydl8.5>=0.1.8").DL85Classifier
        whole = X.astype(np.int64)
        model, outcome = _measured(
            lambda: made(max_depth=1).fit(whole[head], y[head]),
            lambda: made(max_depth=depth, time_limit=math.ceil(seconds)).fit(whole, y),
        )
        predicted, bound, proved = model.predict(whole), None, not model.timeout_
    elif learner == "odtlearn":
        package("mip", "odtlearn[cbc]>=1.1")
        made = package("odtlearn.flow_oct", "odtlearn[cbc]>=1.1").FlowOCT
        asked = {"solver": "cbc", "num_threads": 1}
        model, outcome = _measured(
            lambda: made(depth=1, time_limit=5, **asked).fit(_frame(X[head]), y[head]),
            lambda: made(depth=depth, time_limit=math.ceil(seconds), **asked).fit(_frame(X), y),
        )
        predicted, bound = model.predict(_frame(X)), len(y) - model.objective_bound  # it counts right rows
        proved = model.optim_gap == 0
    elif learner == "gosdt":
        made = package("gosdt", "gosdt>=1.0.4").GOSDTClassifier
        price = 0.8 / 2**depth  # all leaves together cost less than an error
        asked = {"regularization": price / len(y), "allow_small_reg": True, "depth_budget": depth}
        model, outcome = _measured(
            lambda: made(regularization=0.1).fit(X[head].astype(bool), y[head]),
            lambda: made(time_limit=math.ceil(seconds), **asked).fit(X.astype(bool), y),
        )
        predicted, bound = model.trees_[0].predict(X), model.result_.lowerbound * len(y) - 2**depth * price
        proved = model.result_.status.name == "CONVERGED"
    else:
        return _ours_of_depth(X, y, depth, seconds)
    errors = int(np.count_nonzero(predicted != y))
    return {"objective": errors, "bound": bound, "size": None, "status": _status(proved), **outcome}


def _frame(X: Array) -> Any:
    """0/1 columns as odtlearn takes them."""
    return package("pandas", "pandas").DataFrame(X.astype(np.int64))


def thresholds(*, case: str, learner: str, depth: int, seconds: float) -> Outcome:
    """Fewest errors of a tree of a depth over columns of numbers, of all thresholds."""
    X, y = cases.load(case)
    head = _head(y)
    if learner == "pycontree":
        fit = get("pycontree")
        model, outcome = _measured(
            lambda: fit(X[head], y[head], Settings(1, seconds=5)), lambda: fit(X, y, Settings(depth, seconds=seconds))
        )
        proved = model.status == "optimal"
    elif learner == "pytrees-rs":
        made = package("pytrees", "pytrees-rs>=2.0").ConTreeClassifier
        model, outcome = _measured(
            lambda: made(max_depth=1).fit(X[head], y[head]),
            lambda: made(max_depth=depth, max_time=seconds).fit(X, y),
        )
        proved = model.status_ == "optimal"
    else:
        return _ours_of_depth(X, y, depth, seconds)
    errors = int(np.count_nonzero(model.predict(X) != y))
    return {"objective": errors, "bound": None, "size": None, "status": _status(proved), **outcome}


def _ours_of_depth(X: Array, y: Array, depth: int, seconds: float) -> Outcome:
    from proofwood import OptimalTreeClassifier

    head = _head(y)
    model, outcome = _measured(
        lambda: OptimalTreeClassifier(1).fit(X[head], y[head]),
        lambda: OptimalTreeClassifier(depth, time_limit=seconds, n_jobs=1).fit(X, y),
    )
    errors = int(np.count_nonzero(model.predict(X) != y))
    proved = model.result_.status == "optimal"
    return {"objective": errors, "bound": model.lower_bound_, "size": None, "status": _status(proved), **outcome}


# ---------------------------------------------------------------------------------------------- every number of leaves


def leaves(*, case: str, learner: str, depth: int, seconds: float) -> Outcome:
    """Sum of the fewest errors over every number of leaves of a depth, and the numbers of leaves that are proved."""
    X, y = cases.load(case)
    head, most = _head(y), 2**depth
    if learner == "pystreed":
        made = package("pystreed", "pystreed>=1.4").STreeDClassifier

        def fit_all() -> list[tuple[int, bool]]:
            found, left = [], seconds
            for n in range(1, most + 1):
                model = made(max_depth=depth, max_num_nodes=n - 1, time_limit=max(left, 0.1))
                (_, cost) = measure(lambda model=model: model.fit(X, y.astype(np.int32)))
                left -= cost.wall
                found.append((int(np.count_nonzero(model.predict(X) != y)), model.fit_result.is_optimal()))
            return found

        found, outcome = _measured(lambda: made(max_depth=1).fit(X[head], y[head].astype(np.int32)), fit_all)
    elif learner == "a fit for each":
        from proofwood import OptimalTreeClassifier

        def fit_each() -> list[tuple[int, bool]]:
            found, left = [], seconds
            for n in range(1, most + 1):
                model = OptimalTreeClassifier(depth, max_leaf_nodes=n, time_limit=max(left, 0.1), n_jobs=1)
                (_, cost) = measure(lambda model=model: model.fit(X, y))
                left -= cost.wall
                found.append((int(np.count_nonzero(model.predict(X) != y)), model.result_.status == "optimal"))
            return found

        found, outcome = _measured(lambda: OptimalTreeClassifier(1).fit(X[head], y[head]), fit_each)
    else:
        from proofwood import optimal_tree_path

        path, outcome = _measured(
            lambda: optimal_tree_path(X[head], y[head], max_depth=1, cv=None),
            lambda: optimal_tree_path(X, y, max_depth=depth, cv=None, time_limit=seconds, n_jobs=1),
        )
        found = [
            (int(np.count_nonzero(path.at(n).predict(X) != y)), path.at(n).result_.status == "optimal")
            for n in range(1, most + 1)
        ]
    proved = sum(optimal for _, optimal in found)
    objective = sum(errors for errors, _ in found)
    return {"objective": objective, "bound": None, "size": proved, "status": _status(proved == most), **outcome}


# ---------------------------------------------------------------------------------------------------- near-optimal sets


def near(*, case: str, learner: str, depth: int, price: int, slack: int, seconds: float) -> Outcome:
    """The number of trees that cost at most ``slack`` errors more than the best; a leaf costs ``price`` errors."""
    X, y = cases.load(case)
    head, n = _head(y), len(y)
    if learner in ("arborenum", "praxis"):
        exact = learner == "arborenum"
        if exact:
            made, rows = package("arborenum", "arborenum>=0.2.6").ArborEnum, X
        else:
            made, rows = package("praxis", "tree-praxis>=0.0.30").PRAXIS, X.astype(np.uint8)
        optimum = _near_ours(X, y, depth, price, 0, None).optimum
        best = optimum.objective_ + price  # the first leaf has its price here

        def count() -> tuple[Any, int]:
            model = made()
            asked = {"lambda_reg": price / n, "depth_budget": depth, "rashomon_mult": (slack + 0.5) / best}
            model.fit(rows, y, **asked)  # limits of arborenum are of another mode, which counts other sets
            return model, int(model.count_trees())

        (model, counted), outcome = _measured(
            lambda: made().fit(rows[head], y[head], lambda_reg=0.1, depth_budget=2, rashomon_mult=0.1), count
        )
        found = {"objective": model.get_min_objective() - price, "status": _status(exact)}
    else:

        def ours() -> tuple[Any, int]:
            near = _near_ours(X, y, depth, price, slack, seconds)
            return near, near.count

        (near, counted), outcome = _measured(lambda: _near_ours(X[head], y[head], 1, 1, 1, None), ours)
        found = {"objective": near.optimum.objective_, "status": _status(near.exact)}
    return {**found, "bound": None, "size": str(counted), **outcome}


def _near_ours(X: Array, y: Array, depth: int, price: int, slack: int, seconds: float | None) -> Any:
    from proofwood import near_optimal_trees

    return near_optimal_trees(X, y, max_depth=depth, alpha=price / len(y), slack=slack, time_limit=seconds)


# ----------------------------------------------------------------------------------------------------------- numbers


def numbers(*, case: str, learner: str, depth: int, tests: int, seconds: float) -> Outcome:
    """Least squared error of a tree over so many tests of each column."""
    X, y = bits_of(case, tests)
    head = _head(y)
    if learner == "pystreed":
        made = package("pystreed", "pystreed>=1.4").STreeDRegressor
        asked = {"optimization_task": "cost-complex-regression", "cost_complexity": 0.0}
        model, outcome = _measured(
            lambda: made(max_depth=1, **asked).fit(X[head], y[head]),
            lambda: made(max_depth=depth, time_limit=seconds, **asked).fit(X, y),
        )
        proved, bound = model.fit_result.is_optimal(), None
    elif learner == "cart":
        from sklearn.tree import DecisionTreeRegressor

        model, outcome = _measured(
            lambda: DecisionTreeRegressor(max_depth=1).fit(X[head], y[head]),
            lambda: DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X, y),
        )
        proved, bound = False, None
    else:
        from proofwood import OptimalTreeRegressor

        model, outcome = _measured(
            lambda: OptimalTreeRegressor(1).fit(X[head], y[head]),
            lambda: OptimalTreeRegressor(depth, time_limit=seconds, n_jobs=1).fit(X, y),
        )
        bound = model.lower_bound_
        proved = model.objective_ - bound <= ROUNDING * model.objective_  # targets of many digits are rounded
    objective = math.fsum((np.asarray(model.predict(X), dtype=np.float64).ravel() - y) ** 2)
    return {"objective": objective, "bound": bound, "size": None, "status": _status(proved), **outcome}


def bits_of(case: str, tests: int) -> tuple[Array, Array]:
    """A table of the folder ``tables`` beside the data as 0/1 columns, tests at quantiles, and its target in numbers.

    Rows with gaps and columns of text are left out.
    """
    name, target = case.split("/")
    frame = pl.read_csv(cases.data_folder().parent / "tables" / f"{name}.csv.gz", null_values=["NA", ""])
    kept = frame.select([column for column, kind in frame.schema.items() if kind.is_numeric()]).drop_nulls()
    y = kept[target].to_numpy().astype(np.float64)
    made = []
    for column in kept.drop(target).iter_columns():
        values = column.to_numpy().astype(np.float64)
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, tests + 2)[1:-1], method="lower"))
        made += [values <= cut for cut in cuts if 0 < np.count_nonzero(values <= cut) < len(values)]
    return np.ascontiguousarray(np.stack(made, axis=1).astype(np.float64)), y


# ------------------------------------------------------------------------------------------------------------- actions


def actions(*, case: str, learner: str, depth: int, n_actions: int, seconds: float) -> Outcome:
    """Least reward lost by a tree that assigns one of some actions to each leaf; rewards are drawn with seed 0."""
    X, y = cases.load(case)
    rng, head = np.random.default_rng(0), _head(y)
    means = rng.integers(0, 100, size=(int(y.max()) + 1, n_actions))
    rewards = means[y] + rng.integers(-30, 31, size=(len(y), n_actions))
    lost = rewards.max(axis=1, keepdims=True) - rewards
    if learner == "pystreed":
        made = package("pystreed", "pystreed>=1.4").STreeDInstanceCostSensitiveClassifier
        costs = lost.astype(np.float64)
        model, outcome = _measured(
            lambda: made(max_depth=1).fit(X[head], costs[head]),
            lambda: made(max_depth=depth, time_limit=seconds).fit(X, costs),
        )
        proved, bound = model.fit_result.is_optimal(), None
    else:
        from proofwood import OptimalPolicyTree

        model, outcome = _measured(
            lambda: OptimalPolicyTree(1).fit(X[head], rewards[head]),
            lambda: OptimalPolicyTree(depth, time_limit=seconds, n_jobs=1).fit(X, rewards),
        )
        proved, bound = model.result_.status == "optimal", model.lower_bound_
    chosen = np.asarray(model.predict(X), dtype=np.int64).ravel()
    objective = int(lost[np.arange(len(y)), chosen].sum())
    return {"objective": objective, "bound": bound, "size": None, "status": _status(proved), **outcome}
