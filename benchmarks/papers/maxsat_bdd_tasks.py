"""What the MaxSAT-BDD benchmarks measure: means over splits of one data set, plain values in, plain values out."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import cases

Rows = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Values = dict[str, float]

BIASES = {"parent": "test_p", "merge": "test_c"}


def _load(case: str) -> tuple[Rows, Codes]:
    return cases.load(case if case in cases.names("generated") else f"cp4im/{case}")


# ------------------------------------------------------------------ five folds


@dataclass(frozen=True, slots=True)
class Fold:
    """One fit to make: train part, test part, depth, seconds, and features if they are given."""

    X: Rows
    y: Codes
    test_X: Rows
    test_y: Codes
    depth: int
    seconds: float
    features: tuple[int, ...] = ()

    def percent(self, model: Any, part: str, features: Sequence[int] | None = None) -> float:
        """Accuracy on the "train" or the "test" part, of a model over all columns or some."""
        X, y = (self.X, self.y) if part == "train" else (self.test_X, self.test_y)
        return 100 * float(np.mean(model.predict(X if features is None else X[:, features]) == y))


Found = tuple[Values, tuple[int, ...]]
"""What is measured, and the features that the model tests."""


def crossed(*, case: str, depth: int, learner: str, runs: int, seconds: float, features: str = "") -> dict[str, Any]:
    """Means over five random folds for each of ``runs`` seeds.

    Parameters
    ----------
    learner : "exact", "heuristic", "greedy" (``OptimalBDDClassifier``), "tree" (``OptimalTreeClassifier``) or "cart";
        "solver" is the MaxSAT engine over features that were chosen before
    features : for "solver": those of each fold, as ``each`` of another learner tells them

    Returns
    -------
    dict
        Accuracies in percent: ``train``; ``test`` with unknown cells as the diagram is smallest; ``test_p``, ``test_c``
        and ``test_s`` by the biases of the paper. ``size`` and ``size_c`` count all nodes, both sinks included, of the
        smallest diagram and of the one with merged subtrees. ``proved`` is a share of the fits; ``each`` has the
        features of each fold, with dots between them.
    """
    from sklearn.model_selection import KFold

    X, y = _load(case)
    given = iter(features.split())
    found: list[Found] = []
    for seed in range(runs):
        for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
            chosen = next(given).split(".") if features else []
            parts = np.ascontiguousarray(X[train]), y[train], np.ascontiguousarray(X[test]), y[test]
            fold = Fold(*parts, depth, seconds, tuple(int(name) for name in chosen if name != NONE))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a limit is seen in the status
                found.append(_FIT[learner](fold))
    names = dict.fromkeys(name for values, _ in found for name in values)
    means = {name: statistics.fmean(values[name] for values, _ in found if name in values) for name in names}
    each = (
        " ".join(".".join(map(str, used)) or NONE for _, used in found) if learner in ("exact", "heuristic") else None
    )
    done = means["proved"] == 1 or learner in ("cart", "greedy")
    return {**means, "fits": len(found), "each": each, "status": "done" if done else "feasible"}


NONE = "-"
"""Stands for no feature in a list of folds."""


def _size(model: Any) -> int:
    """Inner nodes and two sinks, as the paper counts; a constant diagram has one node."""
    return int(model.n_splits) + 2 if model.n_splits else 1


def _exact(fold: Fold) -> Found:
    from proofwood import OptimalBDDClassifier

    diagram = OptimalBDDClassifier(fold.depth, engine="search", time_limit=fold.seconds)
    return _diagram(diagram, fold, fold.X.shape[1])


def _heuristic(fold: Fold) -> Found:
    from proofwood import OptimalBDDClassifier

    diagram = OptimalBDDClassifier(fold.depth, engine="paper", variant="heuristic", time_limit=fold.seconds)
    return _diagram(diagram, fold, len(_cart_features(fold)))


def _diagram(diagram: Any, fold: Fold, among: int) -> Found:
    """The diagram of an engine that chose among so many features, and its features under other biases."""
    from proofwood import OptimalBDDClassifier

    start = time.perf_counter()
    diagram.fit(fold.X, fold.y)
    seconds = time.perf_counter() - start
    used = sorted(set(diagram.order_.tolist()))
    deep = min(fold.depth, among)
    values: Values = {
        "seconds": seconds,
        "train": fold.percent(diagram, "train"),
        "test": fold.percent(diagram, "test"),
        "size": _size(diagram.model_),
        "features": len(used),
        "proved": float(diagram.result_.stats.stopped_by is None),
        "literals": encoding_size(len(fold.y), among, deep, "BDD2") if deep else 0,
    }
    for bias, name in BIASES.items():
        if used:
            same = OptimalBDDClassifier(len(used), unknown=bias).fit(fold.X[:, used], fold.y)
            if same.objective_ != diagram.objective_:
                raise AssertionError(f"{same.objective_} errors over the features of {diagram.objective_}")
        values[name] = fold.percent(same, "test", used) if used else values["test"]
        if bias == "merge":
            values["size_c"] = _size(same.model_) if used else values["size"]
    return values, tuple(used)


def _solver(fold: Fold) -> Found:
    """The table that a MaxSAT solver makes of given features."""
    from proofwood import OptimalBDDClassifier

    used = list(fold.features)
    if not used:
        used = [0]  # a constant is best: any feature will do
    diagram = OptimalBDDClassifier(len(used), engine="paper", unknown="solver", time_limit=fold.seconds)
    start = time.perf_counter()
    diagram.fit(fold.X[:, used], fold.y)
    values: Values = {
        "seconds": time.perf_counter() - start,
        "train": fold.percent(diagram, "train", used),
        "test_s": fold.percent(diagram, "test", used),
        "size": _size(diagram.model_),
        "proved": float(diagram.status_ == "optimal"),
    }
    return values, fold.features


def _greedy(fold: Fold) -> Found:
    """ODT (test_p) and OODG (test_c): the same features, other predictions where no row goes."""
    from proofwood import OptimalBDDClassifier

    start = time.perf_counter()
    tree, graph = (
        OptimalBDDClassifier(fold.depth, engine="paper", variant="greedy", unknown=unknown).fit(fold.X, fold.y)
        for unknown in ("parent", "merge")
    )
    values: Values = {
        "seconds": (time.perf_counter() - start) / 2,
        "train": fold.percent(graph, "train"),
        "test_p": fold.percent(tree, "test"),
        "test_c": fold.percent(graph, "test"),
        "size_c": _size(graph.model_),
        "proved": 0.0,
    }
    return values, ()


def _tree(fold: Fold) -> Found:
    from proofwood import OptimalTreeClassifier

    tree = OptimalTreeClassifier(max_depth=fold.depth, time_limit=fold.seconds)
    start = time.perf_counter()
    tree.fit(fold.X, fold.y)
    values: Values = {
        "seconds": time.perf_counter() - start,
        "train": fold.percent(tree, "train"),
        "test": fold.percent(tree, "test"),
        "size": tree.model_.n_nodes,
        "features": len(set(tree.model_.feature[tree.model_.feature >= 0].tolist())),
        "proved": float(tree.status_ == "optimal"),
    }
    return values, ()


def _cart(fold: Fold) -> Found:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=fold.depth, random_state=0)
    start = time.perf_counter()
    tree.fit(fold.X, fold.y)
    values: Values = {
        "seconds": time.perf_counter() - start,
        "train": fold.percent(tree, "train"),
        "test": fold.percent(tree, "test"),
        "size": tree.tree_.node_count,
        "features": len(_cart_features(fold)),
        "proved": 0.0,
    }
    return values, ()


def _cart_features(fold: Fold) -> set[int]:
    from sklearn.tree import DecisionTreeClassifier

    features = DecisionTreeClassifier(max_depth=fold.depth, random_state=0).fit(fold.X, fold.y).tree_.feature
    return set(features[features >= 0].tolist())


_FIT: dict[str, Callable[[Fold], Found]] = {
    "exact": _exact,
    "heuristic": _heuristic,
    "solver": _solver,
    "greedy": _greedy,
    "tree": _tree,
    "cart": _cart,
}


# ------------------------------------------------------------------ small training parts


MOST_LITERALS = 10_000_000
"""Formulas above this size are not made: Python needs a minute and gigabytes for them."""


def fewest(*, case: str, share: float, learner: str, runs: int, seconds: float) -> dict[str, Any]:
    """Means over random training parts of the fewest features without avoidable error; the first limit ends it.

    ``learner`` is "search", or the paper's encoding "BDD1" or "BDD2".
    """
    X, y = _load(case)
    count = max(1, int(share * len(y)))
    if learner != "search":
        first = encoding_size(count, X.shape[1], min(7, X.shape[1]), learner)
        if first > MOST_LITERALS:
            return {"fits": 0, "status": "too large", "error": f"the first formula has {first} literals"}
    found: list[Values] = []
    last: Mapping[str, float] = {}
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:count], order[count:]
        one = _fewest_search if learner == "search" else _fewest_sat
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            last = one(learner, np.ascontiguousarray(X[train]), y[train], X[test], y[test], seconds)
        if not last["proved"]:
            break
        found.append(dict(last))
    outcome: dict[str, Any] = {"fits": len(found), "status": "done" if len(found) == runs else "feasible"}
    if not found:
        return {**outcome, "lower_bound": last["lower_bound"], "upper_bound": last["features"]}
    names = ("accuracy", "features", "literals", "seconds")
    return outcome | {name: statistics.fmean(values[name] for values in found) for name in names}


def _fewest_search(learner: str, X: Rows, y: Codes, Z: Rows, w: Codes, seconds: float) -> Values:
    from proofwood import OptimalBDDClassifier

    diagram = OptimalBDDClassifier(objective="features", engine=learner, time_limit=seconds)
    start = time.perf_counter()
    diagram.fit(X, y)
    return {
        "seconds": time.perf_counter() - start,
        "features": diagram.objective_,
        "lower_bound": diagram.lower_bound_,
        "accuracy": 100 * float(np.mean(diagram.predict(Z) == w)),
        "literals": 0.0,
        "proved": float(diagram.status_ == "optimal"),
    }


def _fewest_sat(learner: str, X: Rows, y: Codes, Z: Rows, w: Codes, seconds: float) -> Values:
    """A formula of the paper for each number of features, from seven; its size is that of the optimal number."""
    from proofwood.model.evaluate import predict
    from proofwood.papers.maxsat_bdd.solve import solve
    from proofwood.problem.bdd import BDDProblem, Unknown
    from proofwood.problem.objectives import TreeCost
    from proofwood.problem.ranked import RankedRows
    from proofwood.result import Limits

    labels, codes = np.unique(y, return_inverse=True)
    binarizer, rows = RankedRows.with_tests(X, (), codes, n_classes=labels.size)
    cost = TreeCost.of(alpha=0.0, total=rows.total, unit=rows.unit, priced="nodes")
    problem = BDDProblem(rows, X.shape[1], fewest=True, cost=cost, unknown=Unknown.SOLVER)
    start = time.perf_counter()
    result = solve(problem, variant=learner.lower(), limits=Limits(seconds=seconds))
    elapsed = time.perf_counter() - start
    values: Values = {
        "seconds": elapsed,
        "features": result.objective,
        "lower_bound": result.lower_bound,
        "proved": float(result.status == "optimal"),
    }
    if result.model is not None:
        model = binarizer.lift(result.model)
        values["accuracy"] = 100 * float(np.mean(labels[predict(model, Z)] == w))
        deep = int(result.objective)
        values["literals"] = encoding_size(len(y), X.shape[1], deep, learner) if deep else 0
    return values


def encoding_size(n_examples: int, n_features: int, depth: int, encoding: str) -> int:
    """Literals of BDD1 or BDD2 as in the paper, for two classes, without making a clause."""
    counter = [0, 0, *(2 * (3 * n - 4) for n in range(2, max(n_features, depth) + 1))]
    cells = 1 << depth
    size = n_features * counter[depth] + depth * (counter[n_features] + n_features) + 7 * cells // 2
    if encoding == "BDD1":
        return size + n_examples * (cells + depth * n_features * cells // 2)
    return size + n_examples * (2 * depth * n_features + cells * (depth + 1))
