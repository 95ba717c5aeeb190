"""All learners with all their options drawn at random, against enumeration in the user's own units.

A case is a table, weights, a learner with its parameters and an engine. Of a tiny table every model is counted, with
fractions, from the weights as they were given. Of a larger one the claims of a second run are compared: another engine,
other switches, another number of threads. Of all, the claims must fit together: status and bounds, the trace, a recount
row by row, and the same model again from a file and from a pickle.
"""

from __future__ import annotations

import importlib.util
import math
import pickle
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

import proofwood
from proofwood import MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier
from proofwood.engines.trees import SearchOptions, solve
from proofwood.engines.trees.options import RULES
from proofwood.estimators.classifier import ClassRows
from proofwood.exceptions import OptimalityWarning
from proofwood.problem.tree import TreeProblem
from proofwood.result import Limits
from tests.fuzz import _records
from tests.fuzz.targets import require
from tests.strategies import LANES

EXACT = Fraction(1, 10**14)
"""Relative error of a float64 that stands for an exact sum of a few rows."""
LARGEST, SMALLEST = float(np.finfo(np.float64).max), 5e-324
POOLS: tuple[tuple[float, ...], ...] = (
    (0.0, 1.0),
    (0.0, 1.0, 2.0),
    tuple(float(v) for v in range(9)),
    (0.1, 0.2, 0.3, 0.30000000000000004),
    (5.0,),
    (1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0)),
    (2.0**53, 2.0**53 + 2, 2.0**53 + 4),
    (-SMALLEST, -0.0, 0.0, SMALLEST, 2 * SMALLEST, 2.0**-1022),
    (-LARGEST, -1e308, 0.0, 1e308, math.nextafter(LARGEST, 0.0), LARGEST),
    (1e-300, 1e300, 0.0, -0.0),
    (0.0, 1.0, 2.0, 1e6),
)
"""Values of a column."""
ENGINES = {
    "minimal": ("auto", "search", "paper"),
    "bdd": ("auto", "search", "paper heuristic", "paper greedy", "paper"),
    "diagram": ("auto", "search", "heuristic", "paper", "paper scip"),
}
"""Of each learner, with the variant of the paper where it is not the first one."""
SLOW = ("paper", "paper scip")
"""Engines that start a process or a solver: drawn less often."""


@dataclass
class Case:
    """What is asked, in the form in which it is handed to ``fit``."""

    learner: str
    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    options: dict[str, Any]
    tiny: bool

    def __str__(self) -> str:
        """All that ``fit`` is given."""
        weights = None if self.sample_weight is None else self.sample_weight.tolist()
        return f"{self.learner} {self.options}, X={self.X.tolist()}, y={self.y.tolist()}, sample_weight={weights}"

    @property
    def exact(self) -> Fraction:
        """Relative error of a sum: balanced weights are rounded before they are given to anyone."""
        return 100 * EXACT if self.options.get("class_weight") == "balanced" else EXACT

    @property
    def weights(self) -> list[Fraction]:
        """Exact weight of each row as the user gave it, class weights included."""
        given = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        of_class = self.options.get("class_weight") or {}
        if of_class == "balanced":
            given_weights = [Fraction(float(w)) for w in given]
            labels = self.y.tolist()
            held = {
                c: sum(w for w, label in zip(given_weights, labels, strict=True) if label == c) for c in set(labels)
            }
            there = [weight for weight in held.values() if weight]  # a class without weight is no class
            of_class = {c: sum(there) / (len(there) * weight) if weight else Fraction(0) for c, weight in held.items()}
        return [
            Fraction(float(w)) * Fraction(of_class.get(label, 1))
            for w, label in zip(given, self.y.tolist(), strict=True)
        ]


# ------------------------------------------------------------------------------------------------------------- drawing


def draw(rng: np.random.Generator) -> Case:
    """A case."""
    tiny = bool(rng.random() < 0.8)
    learner = str(rng.choice(["tree", "minimal", "bdd", "diagram"], p=[0.4, 0.2, 0.2, 0.2]))
    n_rows = int(rng.integers(1, 11) if tiny else rng.integers(30, 120))
    n_classes = int(rng.choice([2, 2, 3, 4]))
    columns = []
    for _ in range(int(rng.integers(1, 4))):
        pool = POOLS[rng.integers(len(POOLS))]
        columns.append(rng.choice(pool, n_rows) if tiny or rng.random() < 0.3 else rng.normal(size=n_rows).round(1))
    X = np.stack(columns, axis=1)
    y = rng.integers(0, n_classes, n_rows)
    if rng.random() < 0.5:  # labels that the columns explain, but for some noise
        y = np.where(
            rng.random(n_rows) < 0.2,
            y,
            (X[:, 0] > np.sort(X[:, 0])[n_rows // 2]) + (n_classes > 2) * (X[:, -1] > X[0, -1]),
        )
    weights = None if learner == "minimal" else draw_weights(rng, n_rows)
    return Case(learner, X, y.astype(np.int64), weights, draw_options(rng, learner, y, tiny), tiny)


def draw_weights(rng: np.random.Generator, n_rows: int) -> np.ndarray | None:
    """Weights of one of many regimes, from none to denormal."""
    regime = rng.integers(0, 12)
    if regime <= 2:
        return None
    weights = {
        3: lambda: rng.integers(1, 6, n_rows).astype(float),
        4: lambda: rng.random(n_rows),
        5: lambda: rng.random(n_rows) * 1e-12,
        6: lambda: rng.random(n_rows) * 1e12,
        7: lambda: 10.0 ** rng.integers(-12, 13, n_rows),
        8: lambda: rng.choice([1.0, 1e9], n_rows),
        9: lambda: rng.integers(0, 3, n_rows).astype(float),
        10: lambda: rng.choice([2.0**53, 1.0, 7.0], n_rows),
        11: lambda: rng.choice([SMALLEST, 3 * SMALLEST, 2.0**-1030], n_rows),
    }[int(regime)]()
    if not weights.any():
        weights[0] = 1.0
    return weights


def draw_options(rng: np.random.Generator, learner: str, y: np.ndarray, tiny: bool) -> dict[str, Any]:
    """Parameters of a learner."""
    pick = lambda *values: values[rng.integers(len(values))]  # noqa: E731 - one line, used twenty times
    options: dict[str, Any] = {
        "n_jobs": pick(None, 1, 2, 3),
        "time_limit": pick(None, 60.0, 60.0, 60.0, 0.05, 1e-3) if tiny else pick(5.0, 5.0, 0.3, 0.01),
    }
    if learner in ENGINES:
        options |= draw_engine(rng, learner, slow=rng.random() < 0.25)
    if learner != "minimal":
        extreme = {int(label): pick(1, 0.1, 1e7, 1e-9) for label in np.unique(y)}
        options["class_weight"] = pick(None, None, None, "balanced", extreme)
        options["alpha"] = pick(0.0, 0.0, 0.0, 0.01, 0.1, 1 / 3)
    if learner == "tree":
        options["max_depth"] = pick(0, 1, 2, 2, 3)
        options["min_samples_leaf"] = pick(1, 1, 1, 2, 3)
        options["min_weight_fraction_leaf"] = pick(0.0, 0.0, 0.0, 0.1, 0.25)
        options["max_gap"] = pick(0, 0, 0, 1, 0.05)
    elif learner == "minimal":
        paper = options["engine"] == "paper"
        options["minimize"] = pick("depth", "nodes", "nodes" if paper else "nodes-any-depth")
        options["max_depth"] = pick(None, None, 1, 2, 3)
        options["max_errors"] = 0 if paper else pick(0, 0, 1, 2)
        options["on_conflict"] = pick("error", "majority")
    elif learner == "bdd":
        options["max_features"] = pick(0, 1, 2, 3)
        options["objective"] = pick("errors", "errors", "features")
        options["unknown"] = pick("smallest", "parent", "merge")
        options["tie_break"] = pick(None, "size")
        if options["objective"] == "features":
            options["alpha"] = 0.0
    else:
        options["widths"] = pick((1,), (1, 2), (1, 2), (1, 2, 2))
        options["splits"] = pick("univariate", "univariate", "univariate", "oblique")
        options["topology"] = pick("diagram", "tree")
        options["random_state"] = int(rng.integers(0, 100))
    return options


def draw_engine(rng: np.random.Generator, learner: str, *, slow: bool) -> dict[str, Any]:
    """An engine of a learner, and the variant where there are several."""
    there = [name for name in ENGINES[learner] if "scip" not in name or importlib.util.find_spec("pyscipopt")]
    engine, _, variant = str(rng.choice([name for name in there if slow or name not in SLOW])).partition(" ")
    return {"engine": engine} if learner == "minimal" else {"engine": engine, "variant": variant or None}


def estimator(case: Case) -> Any:
    """The learner of a case, not fitted."""
    learners: dict[str, Callable[..., Any]] = {
        "tree": OptimalTreeClassifier,
        "minimal": MinimalTreeClassifier,
        "bdd": OptimalBDDClassifier,
        "diagram": OptimalDiagramClassifier,
    }
    return learners[case.learner](**case.options)


# --------------------------------------------------------------------------------------------------------- enumeration


def sides(X: np.ndarray) -> list[int]:
    """The rows that go low at each threshold of each column, as bits."""
    return [
        sum(1 << row for row, value in enumerate(column) if value <= below)
        for column in X.T.tolist()
        for below, _ in pairwise(sorted(set(column)))
    ]


def errors_of(y: Sequence[int], weights: Sequence[Fraction]) -> Callable[[int], Fraction]:
    """Weight outside the heaviest class of a set of rows."""

    @cache
    def errors(rows: int) -> Fraction:
        of_class: dict[int, Fraction] = {}
        for row, label in enumerate(y):
            if rows >> row & 1:
                of_class[label] = of_class.get(label, Fraction(0)) + weights[row]
        return sum(of_class.values(), Fraction(0)) - max(of_class.values(), default=Fraction(0))

    return errors


def cheapest_tree(case: Case, depth: int, price: Fraction, first_free: bool, fits: Callable[[int], bool]) -> Fraction:
    """Least weight of errors plus ``price`` per split of trees; ``first_free``: the root costs nothing."""
    low_sides, errors = sides(case.X), errors_of(case.y.tolist(), case.weights)

    @cache
    def best(rows: int, left: int) -> Fraction:
        least = errors(rows)
        if left:
            for side in low_sides:
                low, high = rows & side, rows & ~side
                if low and high and fits(low) and fits(high):
                    least = min(least, best(low, left - 1) + best(high, left - 1) + price)
        return least

    every = (1 << len(case.y)) - 1
    whole = best(every, depth)
    if not first_free:
        return whole
    parts = [(every & side, every & ~side) for side in low_sides]
    return min([errors(every)] + [best(a, depth - 1) + best(b, depth - 1) for a, b in parts]) if depth else whole


def sizes(case: Case, y: Sequence[int]) -> dict[tuple[int, int], int]:
    """Fewest errors of trees by depth and number of leaves."""
    low_sides, errors = sides(case.X), errors_of(y, [Fraction(1)] * len(y))

    @cache
    def reach(rows: int) -> dict[tuple[int, int], int]:
        found = {(0, 1): int(errors(rows))}
        for side in low_sides:
            low, high = rows & side, rows & ~side
            if low and high:
                for (d, n), one in reach(low).items():
                    for (e, m), other in reach(high).items():
                        key = 1 + max(d, e), n + m
                        found[key] = min(found.get(key, one + other), one + other)
        return found

    return reach((1 << len(y)) - 1)


def cells(case: Case, most: int) -> Iterator[tuple[int, Fraction]]:
    """Number of tests and errors of each set of at most ``most`` tests."""
    low_sides, errors = sorted(set(sides(case.X))), errors_of(case.y.tolist(), case.weights)
    every = (1 << len(case.y)) - 1
    for size in range(min(most, len(low_sides)) + 1):
        for chosen in combinations(low_sides, size):
            parts = [every]
            for side in chosen:
                parts = [part for whole in parts for part in (whole & side, whole & ~side) if part]
            yield size, sum(map(errors, parts), Fraction(0))


def merged(case: Case) -> list[int]:
    """Labels after equal rows got the majority label of their group, ties to the lowest."""
    groups: dict[tuple[float, ...], Counter[int]] = {}
    rows = [tuple(value + 0.0 for value in row) for row in case.X.tolist()]  # -0.0 is 0.0
    for row, label in zip(rows, case.y.tolist(), strict=True):
        groups.setdefault(row, Counter())[label] += 1
    return [min(groups[row], key=lambda label: (-groups[row][label], label)) for row in rows]


# -------------------------------------------------------------------------------------------------------------- checks


def close(found: float, value: Fraction, case: Case) -> bool:
    """Whether a float is the value, but for the rounding of a few operations."""
    return abs(Fraction(found) - value) <= case.exact * abs(value) + Fraction(SMALLEST)


def check_claims(fitted: Any, case: Case, told: Counter[str]) -> None:
    """What must hold of any answer."""
    result = fitted.result_
    status = str(result.status)
    told[f"status {status}"] += 1
    require(status in ("optimal", "within_gap", "feasible"), f"status {status}")
    require(math.isfinite(result.objective) and result.objective >= 0, f"objective {result.objective!r}")
    require(result.lower_bound <= result.objective, f"bound {result.lower_bound!r} above {result.objective!r}")
    require(
        fitted.objective_ == result.objective and fitted.lower_bound_ == result.lower_bound,
        "estimator and result differ",
    )
    if status == "feasible":
        require(result.stats.stopped_by is not None or bool(fitted.summary()), "feasible without a reason")
    for before, after in pairwise(result.trace):
        require(before.seconds <= after.seconds, f"trace: {before} then {after}")
        require(before.objective >= after.objective, f"trace: {before} then {after}")
        require(before.lower_bound <= after.lower_bound, f"trace: {before} then {after}")
    if result.trace:
        last = result.trace[-1]
        require((last.objective, last.lower_bound) == (result.objective, result.lower_bound), f"trace ends with {last}")
    predicted = fitted.predict(case.X)
    shares = fitted.predict_proba(case.X)
    require(bool(np.all(np.abs(shares.sum(axis=1) - 1) < 1e-9) and np.all(shares >= 0)), "probabilities")
    again = fitted.recount(case.X, case.y, case.sample_weight)
    require(
        again == fitted.objective_ or case.learner == "minimal", f"recount {again!r}, objective {fitted.objective_!r}"
    )
    check_sum(fitted, case, predicted)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        fitted.save(path)
        loaded = proofwood.load(path)
    for other in (loaded, pickle.loads(pickle.dumps(fitted))):
        require(np.array_equal(other.predict(case.X), predicted), "another prediction after save and load")
        require(
            other.objective_ == fitted.objective_ and other.lower_bound_ == fitted.lower_bound_, "objective after load"
        )
        require(other.model_ == fitted.model_, "another model after save and load")
    fitted.summary()
    fitted.export_text()


def check_sum(fitted: Any, case: Case, predicted: np.ndarray) -> None:
    """The objective is the price of errors and size, in the user's units."""
    weights, model = case.weights, fitted.model_
    wrong = sum((w for w, bad in zip(weights, predicted != case.y, strict=True) if bad), Fraction(0))
    total, alpha = sum(weights, Fraction(0)), Fraction(case.options.get("alpha", 0.0))
    if case.learner == "tree":
        expected = wrong + alpha * total * (model.n_leaves - 1)
    elif case.learner == "diagram":
        slots = sum(case.options["widths"]) - 1
        expected = wrong / total + (alpha * Fraction(max(0, model.n_splits - 1), slots) if slots else 0)
    elif case.learner == "bdd" and case.options["objective"] == "errors":
        expected = wrong + alpha * total * model.n_splits
    else:
        return
    require(close(fitted.objective_, expected, case), f"objective {fitted.objective_!r}, counted {float(expected)!r}")


def optimum_of(case: Case) -> Fraction | None:
    """The least objective of any model; None where it is not enumerated here."""
    options, weights = case.options, case.weights
    total, alpha = sum(weights, Fraction(0)), Fraction(options.get("alpha", 0.0))
    if case.learner == "tree":
        least_rows = options["min_samples_leaf"]
        least = Fraction(options["min_weight_fraction_leaf"]) * total
        held = [w > 0 for w in weights]  # rows without weight are dropped

        def fits(rows: int) -> bool:
            chosen = [row for row in range(len(weights)) if rows >> row & 1 and held[row]]
            return len(chosen) >= max(1, least_rows) and sum(weights[row] for row in chosen) >= least

        if least and any(
            abs(sum(w for row, w in enumerate(weights) if rows >> row & 1) - least) <= EXACT * total
            for rows in range(1 << len(weights))
        ):
            return None  # a set of rows at the very border: rounding may decide
        return cheapest_tree(case, options["max_depth"], alpha * total, False, fits)
    if case.learner == "bdd":
        every = list(
            cells(case, len(set(sides(case.X))) if options["objective"] == "features" else options["max_features"])
        )
        if options["objective"] == "features":
            least_wrong = min(wrong for _, wrong in every)
            return Fraction(min(size for size, wrong in every if wrong == least_wrong))
        return min(wrong for _, wrong in every) if alpha == 0 else None
    if case.learner == "diagram" and options["splits"] == "univariate" and len(options["widths"]) <= 2:
        slots = sum(options["widths"]) - 1
        price = alpha * total / slots if slots else Fraction(0)
        return cheapest_tree(case, len(options["widths"]), price, True, lambda _: True) / total
    return None


def check_optimum(fitted: Any, case: Case, optimum: Fraction, told: Counter[str]) -> None:
    """Bounds hold, and what is said to be optimal is."""
    told["enumerated"] += 1
    low = optimum * (1 - case.exact) - Fraction(SMALLEST)
    high = optimum * (1 + case.exact) + Fraction(SMALLEST)
    found, bound = Fraction(fitted.objective_), Fraction(fitted.lower_bound_)
    status = str(fitted.status_)
    require(found >= low, f"objective {fitted.objective_!r} below the optimum {float(optimum)!r}")
    require(bound <= high, f"{status}: lower bound {fitted.lower_bound_!r} above the optimum {float(optimum)!r}")
    if status == "optimal":
        require(found <= high, f"optimal {fitted.objective_!r}, but {float(optimum)!r} is possible")


def check_minimal(fitted: Any, case: Case, told: Counter[str]) -> None:
    """Depth and nodes against all trees."""
    told["enumerated"] += 1
    options = case.options
    y = merged(case) if options["on_conflict"] == "majority" else case.y.tolist()
    most = math.inf if options["max_depth"] is None else options["max_depth"]
    fit = [(d, 2 * n - 1) for (d, n), wrong in sizes(case, y).items() if wrong <= options["max_errors"] and d <= most]
    require(bool(fit), "a tree, though none is right")
    least_depth = min(fit)[0]
    nodes = min(n for d, n in fit if d == least_depth) if options["minimize"] == "nodes" else min(n for _, n in fit)
    for part in fitted.result_.parts:
        optimum = {"depth": least_depth, "nodes": nodes}.get(part.unit)
        if optimum is None or (part.unit == "nodes" and options["minimize"] == "depth"):
            continue
        proved = [p for p in fitted.result_.parts if p.unit == "depth" and str(p.status) == "optimal"]
        if part.unit == "depth" and options["minimize"] == "nodes-any-depth":
            continue
        require(part.lower_bound <= optimum, f"{part}, but {optimum} is possible")
        if part.unit == "depth" or proved or options["minimize"] == "nodes-any-depth":
            require(part.objective >= optimum, f"{part}, but the least is {optimum}")
        if str(part.status) == "optimal":
            require(part.objective == optimum, f"{part}, but the optimum is {optimum}")
    wrong = int(np.count_nonzero(fitted.predict(case.X) != np.array(y)))
    require(wrong <= options["max_errors"], f"{wrong} wrong")


def check_refused(case: Case, error: ValueError) -> None:
    """A refusal of a smallest tree must be right: rows in conflict, or no tree of the depth."""
    if case.learner != "minimal" or not case.tiny:
        return
    options = case.options
    conflict = merged(case) != case.y.tolist()
    y = merged(case) if options["on_conflict"] == "majority" else case.y.tolist()
    most = math.inf if options["max_depth"] is None else options["max_depth"]
    possible = any(wrong <= options["max_errors"] and d <= most for (d, _), wrong in sizes(case, y).items())
    require(
        not possible or (conflict and options["on_conflict"] == "error"), f"refused, though there is a tree: {error}"
    )


def check_twins(fitted: Any, case: Case, rng: np.random.Generator, told: Counter[str]) -> None:
    """The claims of another engine, or of other switches and threads, do not contradict these."""
    if case.learner == "tree":
        switches: dict[str, Any] = {rule: bool(rng.random() < 0.5) for rule in RULES}
        options = SearchOptions(**switches, lanes=int(rng.choice(LANES)), eta=float(rng.choice([0.0, 1.0, math.inf])))
        codes = np.searchsorted(fitted.classes_, case.y)
        posed = fitted._problem(ClassRows(case.X, _row_weights(fitted, case), fitted.classes_, codes))
        problem: TreeProblem = posed.problem
        other = solve(problem, options=options, limits=Limits(5.0, int(rng.integers(1, 4))))
        objective, bound, what = other.objective, other.lower_bound, repr(options)
    else:
        engine = draw_engine(rng, case.learner, slow=False)
        twin = Case(
            case.learner,
            case.X,
            case.y,
            case.sample_weight,
            case.options | engine | {"time_limit": 5.0},
            False,
        )
        try:
            again = estimator(twin).fit(*_data(twin))
        except (ValueError, TimeoutError):  # not every engine knows every option
            told["not compared"] += 1
            return
        objective, bound, what = again.objective_, again.lower_bound_, str(engine)
    told["compared"] += 1
    least = 1 + float(case.exact)
    require(fitted.lower_bound_ <= objective * least, f"bound {fitted.lower_bound_!r}, but {what} found {objective!r}")
    require(bound <= fitted.objective_ * least, f"{what} says bound {bound!r}, but {fitted.objective_!r} was found")


def _row_weights(fitted: Any, case: Case) -> Any:
    return fitted._row_weights(fitted.classes_, np.searchsorted(fitted.classes_, case.y), case.sample_weight)


def _data(case: Case) -> tuple[Any, ...]:
    return (case.X, case.y) if case.sample_weight is None else (case.X, case.y, case.sample_weight)


# ------------------------------------------------------------------------------------------------------------ campaign


def run(case: Case, rng: np.random.Generator, told: Counter[str]) -> None:
    """Fit and check one case; raises what is wrong."""
    told[f"learner {case.learner}"] += 1
    started = time.process_time()
    try:
        fitted = estimator(case).fit(*_data(case))
    except TimeoutError:  # neither a model nor a proof that there is none
        no_model = case.learner == "minimal" or case.options.get("objective") == "features"
        require(
            no_model and case.options["time_limit"] is not None,
            "a time limit ended a fit that has a model from the start",
        )
        told["no time for an answer"] += 1
        return
    except ValueError as error:
        told["refused"] += 1
        require(len(str(error)) > 20, f"a refusal without words: {error!r}")
        check_refused(case, error)
        return
    seconds, limit = time.process_time() - started, case.options["time_limit"]
    if limit is not None:
        # generous, since all threads count and the machine may be shared; overshoot is measured elsewhere
        require(seconds <= 3 * (limit + 2), f"{seconds:.1f} s of processor time for a limit of {limit} s")
    check_claims(fitted, case, told)
    if case.tiny and case.learner == "minimal":
        check_minimal(fitted, case, told)
    elif case.tiny:
        optimum = optimum_of(case)
        if optimum is not None:
            check_optimum(fitted, case, optimum, told)
    if not case.tiny or rng.random() < 0.2:
        check_twins(fitted, case, rng, told)


def one_case(number: int) -> Counter[str]:
    """Draw, fit and check one case."""
    rng = np.random.default_rng(number)
    case, told = draw(rng), Counter[str]()
    with _records.about(case), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OptimalityWarning)
        run(case, rng, told)
    return told
