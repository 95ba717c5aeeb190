"""What the MaxSAT-BDD benchmarks measure: means over splits of one data set, plain values in, plain values out."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import cases

Rows = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Split = tuple[Rows, Codes, Rows, Codes]
Values = dict[str, float]

BIASES = {"parent": "test_p", "merge": "test_c", "solver": "test_s"}


def _load(case: str) -> tuple[Rows, Codes]:
    return cases.load(case if case in cases.names("generated") else f"cp4im/{case}")


# ------------------------------------------------------------------ five folds


def crossed(*, case: str, depth: int, learner: str, runs: int, seconds: float) -> dict[str, Any]:
    """Means over five random folds for each of ``runs`` seeds.

    Parameters
    ----------
    learner : "exact", "heuristic", "greedy" (all ``OptimalBDDClassifier``), "tree" (``OptimalTreeClassifier``), "cart"

    Returns
    -------
    dict
        Accuracies in percent: ``train``; ``test`` (unknown cells as the diagram is smallest); ``test_p``, ``test_c`` and
        ``test_s`` by the biases of the paper. ``size`` and ``size_c`` count all nodes, both sinks included, of the
        smallest diagram and of the one with merged subtrees. ``proved`` is a share of the fits.
    """
    fit = {"exact": _diagram, "heuristic": _diagram, "greedy": _greedy, "tree": _tree, "cart": _cart}[learner]
    found: list[Values] = []
    for split in _folds(case, runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a limit is seen in the status
            found.append(fit(learner, depth, split, seconds))
    names = {name: None for values in found for name in values}
    means = {name: statistics.fmean(values[name] for values in found if name in values) for name in names}
    done = means["proved"] == 1 or learner in ("cart", "greedy")
    return {**means, "fits": len(found), "status": "done" if done else "feasible"}


def _folds(case: str, runs: int) -> Iterator[Split]:
    from sklearn.model_selection import KFold

    X, y = _load(case)
    for seed in range(runs):
        for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
            yield np.ascontiguousarray(X[train]), y[train], np.ascontiguousarray(X[test]), y[test]


def _percent(model: Any, X: Rows, y: Codes) -> float:
    return 100 * float(np.mean(model.predict(X) == y))


def _size(model: Any) -> int:
    """Inner nodes and two sinks, as the paper counts; a constant diagram has one node."""
    return int(model.n_splits) + 2 if model.n_splits else 1


def _diagram(learner: str, depth: int, split: Split, seconds: float) -> Values:
    """The diagram of an engine, and its tests again under every bias for cells that no row reaches."""
    from proofwood import OptimalBDDClassifier
    from proofwood.engines.sat.bdd_clauses import encoding_size

    X, y, Z, w = split
    engine = "search" if learner == "exact" else learner
    diagram = OptimalBDDClassifier(depth, engine=engine, time_limit=seconds)
    start = time.perf_counter()
    diagram.fit(X, y)
    values: Values = {
        "seconds": time.perf_counter() - start,
        "train": _percent(diagram, X, y),
        "test": _percent(diagram, Z, w),
        "size": _size(diagram.model_),
        "features": len(set(diagram.order_.tolist())),
    }
    among = X.shape[1]
    if learner == "heuristic":
        among = len(_cart_features(depth, X, y))
        values["proved"] = float(diagram.result_.stats.stopped_by is None)
    else:
        values["proved"] = float(diagram.status_ == "optimal")
    deep = min(depth, among)
    values["literals"] = encoding_size(len(y), among, deep, "BDD2") if deep else 0
    used = sorted(set(diagram.order_.tolist()))
    for bias, name in BIASES.items():
        if not used:
            values[name] = values["test"]
            continue
        # the tests are chosen: what remains to an engine is the table over them
        same = OptimalBDDClassifier(len(used), unknown=bias, engine="maxsat" if bias == "solver" else "search")
        same.fit(X[:, used], y)
        if same.objective_ != diagram.objective_:
            raise AssertionError(f"{same.objective_} errors over the tests of a diagram with {diagram.objective_}")
        values[name] = _percent(same, Z[:, used], w)
        if bias == "merge":
            values["size_c"] = _size(same.model_)
    values.setdefault("size_c", values["size"])
    return values


def _greedy(learner: str, depth: int, split: Split, seconds: float) -> Values:
    """ODT (test_p) and OODG (test_c): the same tests, other predictions where no row goes."""
    from proofwood import OptimalBDDClassifier

    X, y, Z, w = split
    start = time.perf_counter()
    tree, graph = (
        OptimalBDDClassifier(depth, engine=learner, unknown=unknown, time_limit=seconds).fit(X, y)
        for unknown in ("parent", "merge")
    )
    return {
        "seconds": (time.perf_counter() - start) / 2,
        "train": _percent(graph, X, y),
        "test": _percent(graph, Z, w),
        "test_p": _percent(tree, Z, w),
        "test_c": _percent(graph, Z, w),
        "size": _size(graph.model_),
        "proved": 0.0,
    }


def _tree(learner: str, depth: int, split: Split, seconds: float) -> Values:
    from proofwood import OptimalTreeClassifier

    X, y, Z, w = split
    tree = OptimalTreeClassifier(max_depth=depth, time_limit=seconds)
    start = time.perf_counter()
    tree.fit(X, y)
    return {
        "seconds": time.perf_counter() - start,
        "train": _percent(tree, X, y),
        "test": _percent(tree, Z, w),
        "size": tree.model_.n_nodes,
        "features": len(set(tree.model_.feature[tree.model_.feature >= 0].tolist())),
        "proved": float(tree.status_ == "optimal"),
    }


def _cart(learner: str, depth: int, split: Split, seconds: float) -> Values:
    from sklearn.tree import DecisionTreeClassifier

    X, y, Z, w = split
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
    start = time.perf_counter()
    tree.fit(X, y)
    return {
        "seconds": time.perf_counter() - start,
        "train": _percent(tree, X, y),
        "test": _percent(tree, Z, w),
        "size": tree.tree_.node_count,
        "features": len(_cart_features(depth, X, y)),
        "proved": 0.0,
    }


def _cart_features(depth: int, X: Rows, y: Codes) -> set[int]:
    from sklearn.tree import DecisionTreeClassifier

    features = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y).tree_.feature
    return set(features[features >= 0].tolist())


# ------------------------------------------------------------------ small training parts


def fewest(*, case: str, share: float, learner: str, runs: int, seconds: float) -> dict[str, Any]:
    """Means over random training parts of the fewest features without avoidable error; the first limit ends it.

    ``learner`` is "search", or the paper's encoding "BDD1" or "BDD2".
    """
    X, y = _load(case)
    found: list[Values] = []
    last: Mapping[str, float] = {}
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(len(y))
        count = max(1, int(share * len(y)))
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
        "accuracy": _percent(diagram, Z, w),
        "literals": 0.0,
        "proved": float(diagram.status_ == "optimal"),
    }


def _fewest_sat(learner: str, X: Rows, y: Codes, Z: Rows, w: Codes, seconds: float) -> Values:
    """A formula of the paper for each number of features, from seven; its size is that of the optimal number."""
    import dataclasses

    from proofwood.data.binarize import Binarizer
    from proofwood.engines.sat.bdd_clauses import encoding_size
    from proofwood.engines.sat.bdd_options import FAITHFUL
    from proofwood.engines.sat.bdd_solve import solve
    from proofwood.model.evaluate import predict
    from proofwood.problem.diagram import DiagramProblem, Unknown
    from proofwood.problem.objectives import TreeCost
    from proofwood.problem.ranked import RankedRows
    from proofwood.result import Limits

    binarizer = Binarizer.of(X)
    labels, codes = np.unique(y, return_inverse=True)
    rows = RankedRows.from_columns(binarizer, X, codes)
    cost = TreeCost.of(alpha=0.0, total=rows.total, unit=rows.unit, priced="nodes")
    problem = DiagramProblem(rows, X.shape[1], fewest=True, cost=cost, unknown=Unknown.SOLVER)
    options = dataclasses.replace(FAITHFUL, engine="sat", encoding=learner)  # type: ignore[arg-type]
    start = time.perf_counter()
    result = solve(problem, options=options, limits=Limits(seconds=seconds))
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
        values["literals"] = encoding_size(len(y), X.shape[1], deep, learner) if deep else 0  # type: ignore[arg-type]
    return values
