"""Nearest rows under linear constraints: integer columns against all integer rows, others against each cell of a grid.

Constraints are drawn as numbers and written as texts, which the reference never reads. In a cell of the grid the class
is the same, so that the nearest values there are a linear program, which HiGHS solves in floats.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer
from tests.fuzz import _records, known

FACTORS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0)
SIGNS = ("<=", "<", ">=", ">", "==")
MOST_CELLS = 400
OPEN = 1e-6
"""What is surely inside of a cell and of constraints: a program of floats is right about no less."""


@dataclass(frozen=True)
class Limit:
    """A constraint: factors times columns, a sign, and a number."""

    factors: Any
    sign: str
    number: float

    def holds(self, rows: Any) -> Any:
        """Which rows satisfy it; the numbers are such that nothing rounds."""
        some = np.flatnonzero(self.factors)
        sums = rows[:, some] @ self.factors[some]  # nan where a value is missing
        test = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater, "==": np.equal}[self.sign]
        return test(sums, self.number)

    def text(self, rng: np.random.Generator) -> str:
        """As a user may write it, with some terms on the other side."""
        left, right = [], [f"{self.number!r}"]
        for j, factor in enumerate(self.factors.tolist()):
            if not factor:
                continue
            if rng.random() < 0.6:
                divides = factor != 3.0 and rng.random() < 0.2  # by a number that is exact
                left.append(f"x{j} / {1 / factor!r}" if divides else f"{factor!r} * x{j}")
            else:
                right.append(f"({-factor!r}) * x{j}")
        return f"{' + '.join(left) or '0'} {self.sign} {' + '.join(right)}"


def limits(rng: np.random.Generator, rows: Any, *, equations: bool) -> list[Limit]:
    """One to three constraints, each of which some rows satisfy, or nearly so."""
    rows = rows[~np.isnan(rows).any(axis=1)]
    found = []
    for _ in range(int(rng.integers(1, 4))):
        factors = rng.choice(FACTORS, rows.shape[1]) * (rng.random(rows.shape[1]) < 0.7)
        if not factors.any():
            factors[int(rng.integers(rows.shape[1]))] = 1.0
        sign = str(rng.choice(SIGNS if equations else SIGNS[:4]))
        number = float(rows[int(rng.integers(len(rows)))] @ factors + rng.choice([0.0, 0.0, 0.5, 1.0]))
        found.append(Limit(factors, sign, number))
    return found


def fitted(rng: np.random.Generator, X: Any) -> Any:
    """A small model of two or three classes."""
    score = np.nan_to_num(X, nan=1.5) @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X)) * 0.3
    y = np.searchsorted(np.quantile(score, [0.5] if rng.random() < 0.7 else [0.3, 0.7]), score)
    kind = int(rng.integers(3))
    if np.isnan(X).any():
        model: Any = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=1)
    elif kind == 0:
        model = RandomForestClassifier(int(rng.integers(1, 6)), max_depth=int(rng.integers(1, 4)), random_state=0)
    elif kind == 1:
        model = GradientBoostingClassifier(n_estimators=int(rng.integers(1, 4)), max_depth=2, random_state=0)
    else:
        model = DecisionTreeClassifier(max_depth=int(rng.integers(1, 4)), random_state=0)
    return model.fit(X, y)


def prices(rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    """Weights as a user states them, and prices per unit downwards and upwards."""
    down = rng.choice([0.0, 0.3, 1.0, 1.0, 2.5, math.inf], n, p=[0.05, 0.25, 0.3, 0.2, 0.15, 0.05])
    up = np.where(rng.random(n) < 0.5, down, rng.choice([0.5, 1.0, 4.0], n))
    return {f"x{j}": (float(down[j]), float(up[j])) for j in range(n)}, down, up


def lengths(rows: Any, x: Any, down: Any, up: Any, metric: str, group: Any = None) -> Any:
    """(n_rows,) distances of rows; the last columns are a group of alternatives if their prices are given."""
    n = len(down)
    away = rows[:, :n] - x[:n]
    with np.errstate(invalid="ignore"):
        each = np.where(away == 0, 0.0, np.where(away > 0, up * away, down * -away))
    gap, gaps = np.isnan(x[:n]), np.isnan(rows[:, :n])
    each = np.where(gaps, np.where(gap, 0.0, np.inf), np.where(gap, 1.0, each))
    if group is not None:
        chosen = rows[:, n:].argmax(axis=1)
        each = np.column_stack([each, np.where(chosen == x[n:].argmax(), 0.0, group[chosen])])
    if metric == "linf":
        return each.max(axis=1)
    return each.sum(axis=1) if metric == "l1" else np.sqrt((each**2).sum(axis=1))


def integers(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A model over few integers, asked about some rows, against all rows."""
    n = int(rng.integers(2, 5))
    low = rng.integers(-3, 2, n)
    high = low + rng.integers(1, 7 if n < 4 else 5, n)
    X = rng.integers(low, high + 1, (60, n)).astype(float)
    values = [[float(v) for v in range(a, b + 1)] for a, b in zip(low, high, strict=True)]
    options: dict[str, Any] = {}
    if rng.random() < 0.2:  # gaps in a column
        options["missing"] = [j := int(rng.integers(n))]
        X[rng.random(len(X)) < 0.3, j] = math.nan
        values[j].append(math.nan)
    every = np.array(list(product(*values)), dtype=float)
    alternatives = rng.random() < 0.3
    if alternatives:
        ones = np.eye(int(rng.integers(2, 4)))
        X = np.column_stack([X, ones[rng.integers(len(ones), size=len(X))]])
        every = np.array([[*row, *one] for row in every for one in ones])
        options["feature_groups"] = {"group": list(range(n, n + len(ones)))}
    model = fitted(rng, X)
    plausible = np.ones(len(every), dtype=bool)
    if rng.random() < 0.25 and not np.isnan(X).any():
        forest = IsolationForest(n_estimators=3, max_samples=6, contamination=0.3, random_state=0).fit(X)
        options["plausible"], plausible = forest, forest.predict(every) == 1
    options["feature_names"] = [f"x{j}" for j in range(X.shape[1])]
    options["integer"] = range(n)
    options["bounds"] = {j: (float(a), float(b)) for j, (a, b) in enumerate(zip(low, high, strict=True))}
    possible = np.ones(len(every), dtype=bool)
    if rng.random() < 0.3:
        texts, test = known.conditions(Explainer(model, **options).model.inputs[:n], rng)
        possible = test(every)
        if not possible.any():
            counts["no row possible"] += 1
            return
        options["knowledge"] = texts
    explainer = Explainer(model, **options)
    codes = model.predict(every)
    for at in rng.choice(np.flatnonzero(possible), 2).tolist():
        x = every[at]
        asked = limits(rng, every, equations=True)
        stated, down, up = prices(rng, n)
        of_group = None
        if alternatives:
            of_group = rng.choice([0.5, 1.0, 3.0, math.inf], len(ones))
            stated["group"] = {f"x{n + k}": float(price) for k, price in enumerate(of_group)}
        fixed = [j for j in range(n) if rng.random() < 0.1 and not math.isnan(x[j])]
        metric = str(rng.choice(["l1", "l2", "linf"]))
        seconds = float(10 ** rng.uniform(-4, -1)) if rng.random() < 0.2 else None
        texts = [limit.text(rng) for limit in asked]
        target = None
        if rng.random() < 0.3:
            others = np.setdiff1d(model.classes_, codes[at])
            target = rng.choice(others, int(rng.integers(1, len(others) + 1)), replace=False).tolist()
        limited, inside = ranges(rng, x[:n], every)
        counts_as = possible & plausible & inside & (every[:, fixed] == x[fixed]).all(axis=1)
        counts_as &= (codes != codes[at]) if target is None else np.isin(codes, target)
        for limit in asked:
            counts_as &= limit.holds(every)
        away = lengths(every, x, down, up, metric, of_group)
        least = float(away[counts_as].min(initial=math.inf))
        for name, stated_too in (("target", target), ("within", limited), ("knowledge", options.get("knowledge"))):
            counts[f"with {name}"] += bool(stated_too)
        _ask(explainer, x, least, counts, metric=metric, weights=stated, immutable=fixed, constraints=texts,
             target=target, within=limited, time_limit=seconds)  # fmt: skip


def ranges(rng: np.random.Generator, x: Any, every: Any) -> tuple[dict[str, Any], Any]:
    """What some columns may become, as a user states it, and which rows keep to it."""
    stated: dict[str, Any] = {}
    inside = np.ones(len(every), dtype=bool)
    for j in np.flatnonzero((rng.random(len(x)) < 0.1) & ~np.isnan(x)).tolist():
        kind = int(rng.integers(3))
        low = x[j] if kind == 0 else x[j] - rng.integers(0, 4) if kind == 2 else -math.inf
        high = x[j] if kind == 1 else x[j] + rng.integers(0, 4) if kind == 2 else math.inf
        stated[f"x{j}"] = ("up", "down", (float(low), float(high)))[kind]
        inside &= (every[:, j] >= low) & (every[:, j] <= high)
    return stated, inside


def _ask(explainer: Explainer, x: Any, least: float, counts: Counter[str], **options: Any) -> None:
    """Ask, and compare with the least distance of any row."""
    try:
        found = explainer.counterfactual(x, **options)
    except ValueError as error:
        if "all its columns are immutable" not in str(error):
            raise
        assert least == math.inf
        counts["contradiction"] += 1
        return
    counts[f"{options['metric']} {found.status}{' (limit)' if options['time_limit'] else ''}"] += 1
    near = 1e-7 * abs(least) if math.isfinite(least) else 0.0
    if found.status == "none":
        assert least == math.inf, f"a row at the distance {least} is one"
    if found.witness is not None:
        row = found.witness
        code, targets = int(explainer.model.predict_codes(row[np.newaxis])[0]), found.targets
        assert code != found.label if targets is None else code in targets
        assert explainer.model.knowledge.holds(row[np.newaxis], explainer.model.inputs)[0]
        assert explainer.model.are_plausible(row[np.newaxis])[0]
        assert found.distance >= least - near, f"the distance is {found.distance}, and none is below {least}"
        changed = {j for j in range(len(x)) if row[j] != x[j] and not (math.isnan(row[j]) and math.isnan(x[j]))}
        columns = [set(explainer.model.inputs_of(feature)) for feature in found.features]
        assert set.union(set(), *columns) >= changed, "a change is not told"
        assert all(some & changed for some in columns), "a feature is told that does not change"
    if options["time_limit"] is None:
        assert found.status == ("none" if math.isinf(least) else "optimal"), (found.status, least)
    if not math.isnan(found.lower_bound):
        assert found.lower_bound <= least + near, f"bound {found.lower_bound}, but {least} is enough"
    if found.status == "optimal":
        assert found.distance <= least + near, f"the distance is {found.distance}, but {least} is enough"


def numbers(rng: np.random.Generator, counts: Counter[str]) -> None:
    """A model over few numbers, against the nearest values of each cell, where a program of floats finds them."""
    n = int(rng.integers(2, 4))
    X = rng.normal(size=(40, n)).round(1)
    model = fitted(rng, X)
    explainer = Explainer(model, feature_names=[f"x{j}" for j in range(n)])
    grid = explainer.model.grid
    thresholds = [grid.columns[g].thresholds for g in range(n)]
    cells = list(product(*(range(t.size + 1) for t in thresholds)))
    if len(cells) > MOST_CELLS:
        counts["too large"] += 1
        return
    x = X[int(rng.integers(len(X)))]
    code = model.predict(x[np.newaxis])[0]
    asked = limits(rng, X, equations=True)
    stated, down, up = prices(rng, n)
    metric = str(rng.choice(["l1", "linf"]))
    least = sure = math.inf
    for cell in cells:
        ends = [
            (t[c - 1] if c else -math.inf, t[c] if c < t.size else math.inf)
            for t, c in zip(thresholds, cell, strict=True)
        ]
        inside = explainer.model.grid.row(np.array(cell), like=x)
        if model.predict(inside[np.newaxis])[0] != code:
            least = min(least, _program(x, ends, asked, down, up, metric))
            inner = [(a + OPEN, b - OPEN) for a, b in ends]
            if all(a <= v <= b for (a, b), v, d in zip(inner, x, down, strict=True) if math.isinf(d)):
                sure = min(sure, _program(x, inner, asked, down, up, metric, shift=OPEN))
    found = explainer.counterfactual(x, metric=metric, weights=stated, constraints=[one.text(rng) for one in asked])
    counts[f"numbers {metric} {found.status}"] += 1
    near = 1e-5 * (1 + abs(least)) if math.isfinite(least) else 0.0
    if found.status == "none":
        assert sure == math.inf, f"a row at the distance {sure} is one"
    if found.witness is not None:
        assert model.predict(found.witness[np.newaxis])[0] != code
        for limit in asked:
            gap = float(found.witness @ limit.factors) - limit.number
            gap = gap if limit.sign[0] == "<" else abs(gap) if limit.sign == "==" else -gap
            assert gap <= 1e-12 * (1 + abs(limit.number)), f"{limit} is broken"
        assert found.distance >= least - near, f"the distance is {found.distance}, and none is below {least}"
    assert found.lower_bound <= sure + near, f"bound {found.lower_bound}, but {sure} is enough"
    if found.status == "optimal":
        assert found.distance <= sure + near, f"the distance is {found.distance}, but {sure} is enough"


def _program(x: Any, ends: Any, asked: list[Limit], down: Any, up: Any, metric: str, shift: float = 0.0) -> float:
    """The least price of values of a cell that satisfy constraints, up to what floats can tell; infinite if none do."""
    n = len(x)
    bounds: list[Any] = []
    for j, (a, b) in enumerate(ends):
        a, b = max(a, x[j] if math.isinf(down[j]) else a), min(b, x[j] if math.isinf(up[j]) else b)
        if a > b:
            return math.inf
        bounds.append((None if math.isinf(a) else a, None if math.isinf(b) else b))
    rates = [np.where(np.isinf(rate), 0.0, rate) for rate in (down, up)]
    rows, right = [], []
    for limit in asked:
        for sign in {"<": (1,), ">": (-1,), "=": (1, -1)}[limit.sign[0]]:
            rows.append([*(sign * limit.factors), *([0.0] * n)])
            right.append(sign * limit.number - (0.0 if limit.sign == "==" else shift))
    for j in range(n):
        for rate, sign in ((rates[1][j], 1.0), (rates[0][j], -1.0)):
            row = [0.0] * (2 * n)
            row[j], row[n + j] = sign * rate, -1.0
            rows.append(row)
            right.append(sign * rate * x[j])
    cost = [0.0] * n + [1.0] * n
    if metric == "linf":
        rows = [[*row, 0.0] for row in rows]
        for j in range(n):
            row = [0.0] * (2 * n + 1)
            row[n + j], row[-1] = 1.0, -1.0
            rows.append(row)
            right.append(0.0)
        cost = [0.0] * (2 * n) + [1.0]
    bounds += [(0, None)] * (len(cost) - n)
    solved = linprog(cost, A_ub=rows, b_ub=right, bounds=bounds)
    return float(solved.fun) if solved.status == 0 else math.inf


def one_case(number: int) -> Counter[str]:
    """One model and some rows, by what the answers were; AssertionError at the first fault."""
    counts: Counter[str] = Counter()
    rng = np.random.default_rng([*divmod(number, _records.CASES), 7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (integers if number % 3 else numbers)(rng, counts)
    return counts
