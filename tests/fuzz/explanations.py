"""Explanations of random models of the kinds that people have, against the model's predictions for its whole grid.

A case is a small table, a model learned from it, and an explainer. The grid is listed in the units of the table: for
each column a value in every interval between its thresholds, each category, and a missing value where one is
considered. What the model itself predicts for all these rows decides what an explanation should have said.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from proofwood import Explainer, OptimalTreeClassifier
from proofwood.data.kinds import Kind
from proofwood.ensembles.door import Admitted
from proofwood.explain.answers.possible import Region
from proofwood.explain.explanation import Explanation
from proofwood.explain.nearest.measure import count_prices
from proofwood.explain.nearest.tariffs import read_tariff, weights_of
from proofwood.explain.proofs.certificate import NoCertificateError, check_certificate
from proofwood.explain.rule import Condition
from tests.fuzz import _prices, _records

MOST_ROWS = 3000
"""Rows of the largest grid that is listed."""
TINY = (0.0, 1e-36, -1e-36, 2e-35, -2e-35)
"""Numbers that LightGBM takes for 0, and such that it does not."""


@dataclass(frozen=True)
class Case:
    """A model, the rows it was learned from, what it was made of, what is asked of it, and which rows are possible.

    ``needs_rows`` says that the model cannot be read without rows.
    """

    model: Any
    X: Any
    told: str
    options: Mapping[str, Any] = field(default_factory=dict)
    possible: Callable[[Any], Any] | None = None
    needs_rows: bool = False


# --------------------------------------------------------------------------------------------------------- the tables


def table(rng: np.random.Generator, *, categories: bool, gaps: float) -> tuple[Any, Any]:
    """A small table, a frame if it has categories, and labels of two to four classes that depend on it."""
    n, width = int(rng.integers(8, 70)), int(rng.integers(1, 5))
    columns: dict[str, Any] = {}
    score = rng.normal(size=n) * rng.choice([0.0, 0.3])
    for j in range(width):
        kind = rng.choice(["number", "integer", "tiny", "wide"])
        if categories and rng.random() < 0.4:
            codes = rng.integers(0, rng.integers(2, 6), n)
            columns[f"c{j}"] = np.array(list("uvwxyz"))[codes].astype(object)
            score = score + rng.normal(size=6)[codes]
            continue
        if kind == "number":
            values = rng.normal(size=n).round(int(rng.integers(0, 3)))
        elif kind == "integer":
            values = rng.integers(-2, 4, n).astype(float)
        elif kind == "tiny":
            values = rng.choice([*TINY, 1.0, -1.0], n)
        else:
            values = rng.normal(size=n) * 10.0 ** rng.integers(-3, 6)
        score = score + rng.normal() * np.sign(values - np.median(values)) * (1 + (values > np.max(values) / 2))
        columns[f"x{j}"] = values
    for name, values in columns.items():
        lost = rng.random(n) < gaps * rng.integers(0, 2)
        if lost.any() and not lost.all():
            score = score + rng.normal() * lost
            columns[name] = np.where(lost, None if values.dtype == object else np.nan, values)
    n_classes = int(rng.choice([2, 2, 3, 4]))
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    if len(np.unique(y)) < 2:
        y = np.arange(n) % 2
    _, y = np.unique(y, return_inverse=True)
    frame = pd.DataFrame(columns)
    return (frame, y) if categories else (frame.to_numpy(float), y)


def _weights(rng: np.random.Generator) -> Any:
    return rng.choice(np.array([None, "balanced"], dtype=object))


def histogram_boosting(rng: np.random.Generator) -> Case:
    """HistGradientBoosting with gaps, categories and class weights."""
    X, y = table(rng, categories=rng.random() < 0.5, gaps=float(rng.choice([0.0, 0.3])))
    named = [name for name in X.columns if name[0] == "c"] if hasattr(X, "columns") else None
    model = HistGradientBoostingClassifier(
        max_iter=int(rng.integers(1, 5)), max_leaf_nodes=int(rng.integers(2, 6)), min_samples_leaf=1,
        learning_rate=float(rng.choice([0.1, 0.5, 1.0])), categorical_features=named, class_weight=_weights(rng),
        early_stopping=False,
    )  # fmt: skip
    return Case(model.fit(X, y), X, "histogram boosting")


def xgboost(rng: np.random.Generator) -> Case:
    """XGBoost, also with dart, gaps, and a number that stands for a missing value."""
    from xgboost import XGBClassifier

    X, y = table(rng, categories=False, gaps=float(rng.choice([0.0, 0.3])))
    booster = str(rng.choice(["gbtree", "dart"]))
    more: dict[str, Any] = {"rate_drop": 0.4} if booster == "dart" else {}
    model = XGBClassifier(
        n_estimators=int(rng.integers(1, 5)), max_depth=int(rng.integers(1, 4)), min_child_weight=0, booster=booster,
        learning_rate=float(rng.choice([0.3, 1.0])), n_jobs=1, random_state=0,
        missing=float(rng.choice([math.nan, math.nan, 0.0, 1.0, float(rng.choice(X.ravel()))])), **more,
    )  # fmt: skip
    return Case(model.fit(X, y), X, f"xgboost {booster} missing={model.missing}")


def lightgbm(rng: np.random.Generator) -> Case:
    """LightGBM with gaps, zeros as missing values, no missing values at all, and categories."""
    from lightgbm import LGBMClassifier
    from lightgbm.basic import LightGBMError

    categories = rng.random() < 0.4
    X, y = table(rng, categories=categories, gaps=float(rng.choice([0.0, 0.3, 0.6])))
    if categories:
        X = X.astype({name: "category" for name in X.columns if name[0] == "c"})
    model = LGBMClassifier(
        n_estimators=int(rng.integers(1, 5)), num_leaves=int(rng.integers(2, 7)), min_child_samples=1,
        min_data_in_bin=1, min_child_weight=0, min_data_per_group=1, cat_smooth=0,
        max_cat_to_onehot=int(rng.choice([1, 4])), zero_as_missing=bool(rng.random() < 0.3),
        use_missing=bool(rng.random() < 0.8), n_jobs=1, verbose=-1, class_weight=_weights(rng),
        boosting_type=str(rng.choice(["gbdt", "gbdt", "dart"])),
    )  # fmt: skip
    try:
        return Case(model.fit(X, y), X, "lightgbm")
    except LightGBMError:  # LightGBM itself fails on some tables of equal values: another table
        return lightgbm(rng)


def forest(rng: np.random.Generator) -> Case:
    """Trees and forests of scikit-learn that take missing values."""
    X, y = table(rng, categories=False, gaps=float(rng.choice([0.0, 0.3])))
    depth, weights = int(rng.integers(1, 4)), _weights(rng)
    model: Any = DecisionTreeClassifier(max_depth=depth, class_weight=weights, random_state=0)
    if rng.random() < 0.6:
        kind = RandomForestClassifier if rng.random() < 0.6 else ExtraTreesClassifier
        model = kind(int(rng.integers(1, 6)), max_depth=depth, class_weight=weights, random_state=0, n_jobs=1)
    return Case(model.fit(X, y), X, type(model).__name__)


def pipeline(rng: np.random.Generator) -> Case:
    """A forest or boosted trees behind an imputer, a one-hot or ordinal encoder and a scaler."""
    X, y = table(rng, categories=True, gaps=0.3)
    named, numbers = ([name for name in X.columns if name[0] == kind] for kind in "cx")
    X[named] = X[named].fillna("u")
    encoder = OneHotEncoder(handle_unknown="ignore") if rng.random() < 0.6 else OrdinalEncoder()
    filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler() if rng.random() < 0.5 else "passthrough")
    parts = [part for part in ((filled, numbers), (encoder, named)) if part[1]]
    last: Any = RandomForestClassifier(int(rng.integers(1, 5)), max_depth=3, random_state=0, class_weight=_weights(rng))
    if rng.random() < 0.3:
        last = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=1)
    return Case(make_pipeline(make_column_transformer(*parts, sparse_threshold=0), last).fit(X, y), X, "pipeline")


def own(rng: np.random.Generator) -> Case:
    """A tree of this package."""
    X, y = table(rng, categories=False, gaps=0.0)
    return Case(OptimalTreeClassifier(max_depth=int(rng.integers(1, 3)), time_limit=5).fit(X, y), X, "own tree")


MODELS: tuple[Callable[[np.random.Generator], Case], ...] = (
    histogram_boosting, xgboost, lightgbm, forest, pipeline, own,
)  # fmt: skip


def numbers(n: int, models: Sequence[Callable[[np.random.Generator], Case]] | None = None) -> list[Any]:
    """Numbers of `make` from 0, as parameters of a test that name the package that a case needs."""
    made = MODELS if models is None else models
    names = [made[number % len(made)].__name__.partition("_")[0] for number in range(n)]
    needs = [[pytest.mark.needs(name)] if name in ("xgboost", "lightgbm", "catboost") else [] for name in names]
    return [pytest.param(number, marks=marks) for number, marks in enumerate(needs)]


# ----------------------------------------------------------------------------------------------------------- the grid


class Grid:
    """Every row of the space of an explainer, one in each cell, and what the model predicts for it.

    Parameters
    ----------
    explainer : of the model; only the names, thresholds and categories of its columns are read
    rng : which of the values in a cell are taken
    possible : which rows (n_rows, n_inputs) belong to the space; all by default
    """

    def __init__(
        self, explainer: Explainer, rng: np.random.Generator, possible: Callable[[Any], Any] | None = None
    ) -> None:
        model = explainer.model
        self.values = [list(_values(explainer, j, rng)) for j in range(len(model.inputs))]
        self.size = math.prod(map(len, self.values))
        self.columns_of = [sorted({model.grid.columns[g].column for g in columns}) for columns in model.scores.features]
        if self.size <= MOST_ROWS:
            self.places = np.array(list(product(*(range(len(values)) for values in self.values))), dtype=np.int64)
            self.rows = np.array(
                [[self.values[j][at] for j, at in enumerate(places)] for places in self.places.tolist()], dtype=float
            ).reshape(len(self.places), len(self.values))
            self.all_places, self.all_rows = self.places, self.rows
            if possible is not None:
                inside = possible(self.rows)
                self.places, self.rows = self.places[inside], self.rows[inside]
            self.codes = model.predict_codes(self.rows) if len(self.rows) else np.empty(0, dtype=np.int64)

    def agreeing(self, at: int, features: Any) -> Any:
        """Which rows agree with one on some features."""
        columns = [j for f in features for j in self.columns_of[f]]
        return (self.places[:, columns] == self.places[at][columns]).all(axis=1)

    def suffices(self, at: int, features: Any) -> bool:
        """Whether all rows that agree with one on some features have its class."""
        return bool((self.codes[self.agreeing(at, features)] == self.codes[at]).all())


def _values(explainer: Explainer, j: int, rng: np.random.Generator) -> Iterator[float]:
    """A value of an input in each of its cells, each of its categories, and NaN for a missing one."""
    model = explainer.model
    given, mine = model.inputs[j], [model.grid.columns[g] for g in model.grid.of_input[j]]
    if given.kind is Kind.NOMINAL:
        yield from map(float, range(len(given.levels) + given.other))
    elif given.levels:  # every category, since a region may name one alone
        yield from map(float, range(math.ceil(given.low), math.floor(given.high) + 1))
    else:
        cuts = np.unique(np.concatenate([[], *(one.thresholds for one in mine if one.role.startswith("value"))]))
        low = max(given.low, cuts[0] - 1.0) if cuts.size else min(max(0.0, given.low), given.high)
        ends = [low, *(min(np.nextafter(cut, np.inf), given.high) for cut in cuts)]
        if given.whole:
            ends = [math.ceil(end) if np.isfinite(end) else end for end in ends]
        for place, start in enumerate(ends):
            yield float(cuts[place] if place < cuts.size and rng.random() < 0.5 else start)
    if given.missing:
        yield math.nan


def holds(condition: Condition, explainer: Explainer, rows: Any) -> Any:
    """Which rows satisfy a condition of a rule."""
    names = [given.name for given in explainer.model.inputs]
    values = rows[:, names.index(condition.name)]
    missing = np.isnan(values)
    if condition.only_missing:
        return missing
    if condition.values is not None:
        levels = explainer.model.inputs[names.index(condition.name)].levels
        texts = [
            None if lost or not 0 <= v < len(levels) else levels[int(v)]
            for v, lost in zip(values, missing, strict=True)
        ]
        other = any(text.startswith("(") and text not in levels for text in condition.values)
        return np.array([other if text is None else text in condition.values for text in texts])
    with np.errstate(invalid="ignore"):
        above = values > condition.low if condition.low_open else values >= condition.low
        below = values < condition.high if condition.high_open else values <= condition.high
    return np.where(missing, condition.missing, above & below)


# ---------------------------------------------------------------------------------------------------------- the checks


class Checks:
    """What is asked about one row of a grid, and what must be so; the first fault is an AssertionError."""

    def __init__(self, explainer: Explainer, grid: Grid, at: int, counts: Counter[str]) -> None:
        self.explainer, self.grid, self.at, self.counts = explainer, grid, at, counts
        self.x = grid.rows[at]
        self.n = len(explainer.feature_names)
        self.row = Admitted.one(self.x, int(grid.codes[at]))

    def ask(self, method: str, **options: Any) -> Explanation:
        """An explanation of the row, which must be about the class that the model predicts."""
        found: Explanation = getattr(self.explainer, method)(self.row, **options)
        self.counts[f"{method} {found.status}"] += 1
        assert found.label == self.grid.codes[self.at]
        return found

    def abductive(self, certificate: bool, **options: Any) -> None:
        """The features suffice, none can go, and no fewer do where that is claimed."""
        found = self.certified("abductive", certificate, **options)
        grid, at = self.grid, self.at
        assert grid.suffices(at, found.features), "the features do not suffice"
        if found.status in ("minimal", "smallest"):
            for feature in found.features:
                assert not grid.suffices(at, set(found.features) - {feature}), f"feature {feature} can go"
        if found.status == "smallest" and found.features:
            for fewer in combinations(range(self.n), len(found.features) - 1):
                assert not grid.suffices(at, fewer), f"{fewer} suffice"
        self.verified(found)

    def inflated(self, certificate: bool) -> None:
        """Every row that the rule is about has the class, and no range can take in more where that is claimed."""
        found = self.certified("abductive", certificate, inflate=True)
        grid, explainer = self.grid, self.explainer
        inside = np.ones(len(grid.rows), dtype=bool)
        by_name, values_in = {}, {}
        for condition in found.conditions:
            by_name[condition.name] = holds(condition, explainer, grid.rows)
            values_in[condition.name] = holds(condition, explainer, grid.all_rows)
            inside &= by_name[condition.name]
        assert inside[self.at], "the row is not inside its own rule"
        assert (grid.codes[inside] == found.label).all(), f"the rule {found.rule(None)} has rows of another class"
        self.counts[f"ranges {found.ranges}"] += 1
        if found.ranges != "widest":
            return
        for j, given in enumerate(explainer.model.inputs):
            if given.name not in by_name:
                continue
            others = np.ones(len(grid.rows), dtype=bool)
            for name, chosen in by_name.items():
                others &= chosen if name != given.name else True
            taken = sorted({int(p) for p in grid.all_places[values_in[given.name], j]})
            for place in self.next_to(j, taken):
                wider = others & (grid.places[:, j] == place)
                if not wider.any() and len(grid.rows) < len(grid.all_rows):
                    continue  # no such row is possible
                assert (grid.codes[wider] != found.label).any(), (
                    f"{found.rule(None)}: {given.name} can take in {grid.values[j][place]}"
                )
                self.counts["ends"] += 1

    def next_to(self, j: int, taken: list[int]) -> list[int]:
        """Values of an input that a range could take in next."""
        values = self.grid.values[j]
        if self.explainer.model.inputs[j].kind is Kind.NOMINAL:
            return [place for place in range(len(values)) if place not in taken]
        missing = [place for place, value in enumerate(values) if math.isnan(value)]
        numbers = [place for place in taken if place not in missing]
        if not numbers:
            return [place for place in range(len(values)) if place not in missing]
        near = [place for place in (min(numbers) - 1, max(numbers) + 1) if 0 <= place < len(values)]
        return [place for place in {*near, *missing} if place not in taken]

    def contrastive(self, certificate: bool, **options: Any) -> None:
        """A change of the features changes the class, and no change of fewer of them does."""
        found = self.certified("contrastive", certificate, **options)
        grid, at, everything = self.grid, self.at, set(range(self.n))
        if found.status == "none":
            assert grid.suffices(at, ()), "the class can change"
            return
        if found.status in ("minimal", "smallest"):
            assert not grid.suffices(at, everything - set(found.features)), "the features change nothing"
        for feature in found.features:
            assert grid.suffices(at, everything - set(found.features) | {feature}), f"feature {feature} can stay"
        if found.status == "smallest":
            for fewer in combinations(everything, len(found.features) - 1):
                assert grid.suffices(at, everything - set(fewer)), f"{fewer} change the class"
        self.verified(found)

    def counterfactual(self, metric: str, rng: np.random.Generator, certificate: bool = False) -> None:
        """The row has another class, and no row of the grid with another class is nearer."""
        options = self.priced(rng)
        if metric == "changes":
            options.pop("weights", None)
            if count_prices(self.explainer.model, self.explainer.model.cells(self.x)) is None:
                options.pop("within", None)
        # a certificate knows prices in numbers
        certificate &= read_tariff(self.explainer.model, self.x, options.get("weights")).stated is not None
        wanted, about = self.grid.codes != self.grid.codes[self.at], {}
        if rng.random() < 0.4:  # one class only
            classes = self.explainer.model.classes.tolist()
            target = int(rng.choice([k for k in range(len(classes)) if k != self.grid.codes[self.at]]))
            wanted, about = self.grid.codes == target, {"target": classes[target]}
        found = self.certified("counterfactual", certificate, metric=metric, **about, **options)
        if metric == "changes":
            bounds = options.get("immutable", ()), options.get("within", {})
            fewest = [
                sum(
                    (self.grid.places[place] != self.grid.places[self.at])[columns].any()
                    for columns in self.grid.columns_of
                )
                for place in np.flatnonzero(wanted).tolist()
                if not self.is_forbidden(self.nearest_values(place), *bounds, counted=True)
            ]
            least = min(map(float, fewest), default=math.inf)
        else:
            least = self.least_distance(wanted, metric, **options)
        # prices, or squares of them, too small for float64 to tell apart
        tiny = least ** (2 if metric == "l2" else 1) < np.finfo(np.float64).tiny
        near = least if tiny else 1e-9 * least if math.isfinite(least) else 0.0
        assert tiny or not found.status.startswith(("feasible", "unknown")), "without a limit a search goes on"
        if found.status == "none":
            assert least == math.inf, f"a row at the distance {least} has another class"
        elif found.witness_cells and (found.exact or metric != "changes"):
            assert found.distance >= least - near, f"the distance is {found.distance}, and none is below {least}"
            if metric != "changes":  # up to rounding, where fewer changes may do
                assert found.witness_label != found.label
        if not math.isnan(found.lower_bound):
            assert found.lower_bound <= least + near, f"bound {found.lower_bound}, but {least} is enough"
        if found.certificate is not None and found.certificate["kind"] == "distance":
            self.told(found, least)
        if found.status == "optimal":
            assert found.distance <= least + near, f"the distance is {found.distance}, but {least} is enough"
            self.verified(found)

    def told(self, found: Explanation, least: float) -> None:
        """What the certificate of a distance says holds for all rows, and is as much as the answer says."""
        assert found.certificate is not None
        status, told = found.certificate["status"], found.certificate["distance"]
        self.counts[f"distance {told['metric']} {status}"] += 1
        if status == "none":
            assert least == math.inf, f"a row at the distance {least} has another class"
            return
        assert told["least"] <= least * (1 + 1e-12), f"{told['least']} is told, but a row is at {least}"
        tiny = least < np.finfo(np.float64).tiny  # what is proved of such prices rounds to 0
        if found.status == "optimal" and not self.explainer.model.scores.margin and not tiny:
            assert status == "optimal", (told["least"], told["distance"])
        if status == "optimal":
            assert told["distance"] <= least * (1 + 1e-9)

    def possible(self, rng: np.random.Generator, certificate: bool) -> None:
        """Which classes rows of a region have, by all rows of the grid whose cells are in it."""
        where: dict[str, Any] = {}
        for j, given in enumerate(self.explainer.model.inputs):
            if rng.random() < 0.5:
                continue
            if given.levels and given.kind is Kind.NOMINAL:
                where[given.name] = [level for level in given.levels if rng.random() < 0.6] or list(given.levels[:1])
            elif not given.levels:
                ends = sorted(float(rng.choice([v for v in self.grid.values[j] if not math.isnan(v)])) for _ in "ab")
                where[given.name] = tuple(ends)
        region = Region(self.explainer.model, where)
        cells = self.explainer.model.grid.cells_of(self.grid.rows)
        inside = ((region.low <= cells) & (cells <= region.high)).all(axis=1)
        found = self.explainer.possible(where, certificate=certificate)
        classes = self.explainer.model.classes.tolist()
        for code, label in enumerate(classes):
            answer = found.classes[label]
            self.counts[f"possible {answer}"] += 1
            assert answer is None or answer == bool((self.grid.codes[inside] == code).any()), (label, answer, where)
        if certificate:
            failed = [check for check in check_certificate(found.certificate, found.model) if not check.passed]
            assert not failed, failed
            self.counts[f"certificate possible {found.certificate['status']}"] += 1

    def priced(self, rng: np.random.Generator) -> dict[str, Any]:
        """Random weights, features that stay, and what columns may become."""
        options: dict[str, Any] = {}
        inputs, names = self.explainer.model.inputs, self.explainer.feature_names
        if rng.random() < 0.3:
            options["weights"] = float(rng.choice([0.5, 1.0, 3.0]))
        elif rng.random() < 0.5:
            options["weights"] = {
                given.name: _prices.stated(rng, given, float(at)) for given, at in zip(inputs, self.x, strict=True)
            }
        if rng.random() < 0.3:
            options["immutable"] = [str(rng.choice(names))]
        within: dict[str, Any] = {}
        for j, given in enumerate(inputs):
            if rng.random() < 0.6:
                continue
            if given.kind is Kind.NOMINAL:
                within[given.name] = [level for level in given.levels if rng.random() < 0.5]
                continue
            if math.isnan(self.x[j]):
                continue
            at, spread = float(self.x[j]), float(rng.choice([0.0, 0.5, 1.0, 5.0]))
            some: list[Any] = ["up", "down"]
            if given.levels:
                some.append((given.levels[0], given.levels[int(at)]))
            else:
                some += [(at - spread, at + spread), (at, math.inf)]
            within[given.name] = some[int(rng.integers(len(some)))]
        if within:
            options["within"] = within
        return options

    def least_distance(
        self, wanted: Any, metric: str, weights: Any = None, immutable: Any = (), within: Any = None
    ) -> float:
        """The distance of the nearest row among some of the grid."""
        model = self.explainer.model
        units = weights_of(model)
        prices = weights if isinstance(weights, dict) else {given.name: weights for given in model.inputs}
        least = math.inf
        for place in np.flatnonzero(wanted).tolist():
            then_of = self.nearest_values(place)
            if self.is_forbidden(then_of, immutable, within or {}):
                continue
            terms = []
            for j, (given, then) in enumerate(zip(model.inputs, then_of, strict=True)):
                now = float(self.x[j])
                if now == then or (math.isnan(now) and math.isnan(then)):
                    continue
                stated = prices.get(given.name)
                terms.append(_prices.paid(units[j] if stated is None else stated, given, now, then))
            length = {"l1": sum(terms), "l2": math.hypot(*terms), "linf": max(terms, default=0.0)}[metric]
            least = min(least, length)
        return least

    def nearest_values(self, place: int) -> list[float]:
        """The values of a row of the grid, numbers as near as its cells allow."""
        model = self.explainer.model
        row = model.grid.row(model.cells(self.grid.rows[place]), like=self.x).tolist()
        for j, given in enumerate(model.inputs):
            shown = float(self.grid.rows[place][j])
            if given.kind is Kind.NOMINAL:
                row[j] = shown  # also one that is not the first of those that are alike
        return [float(value) for value in row]

    def is_forbidden(
        self, then_of: Sequence[float], immutable: Any, within: Mapping[str, Any], *, counted: bool = False
    ) -> bool:
        """Whether a row changes what may not change, or into what it may not become.

        A value becomes missing only where changes are ``counted``, and ``within`` does not limit it.
        """
        for j, (given, then) in enumerate(zip(self.explainer.model.inputs, then_of, strict=True)):
            now = float(self.x[j])
            if now == then or (math.isnan(now) and math.isnan(then)):
                continue
            if given.name in immutable or (math.isnan(then) and not (counted and given.name not in within)):
                return True
            if math.isnan(then):
                continue
            rule = within.get(given.name, (-math.inf, math.inf))
            if isinstance(rule, list):
                if then >= len(given.levels) or given.levels[int(then)] not in rule:
                    return True
            elif not math.isnan(now):
                low, high = {"up": (now, math.inf), "down": (-math.inf, now)}.get(rule, rule)
                low, high = (given.levels.index(end) if isinstance(end, str) else end for end in (low, high))
                if not low <= then <= high:
                    return True
        return False

    def enumeration(self) -> None:
        """All explanations, where the list says that it is complete without a doubt."""
        listing = self.explainer.enumerate(self.row)
        found = list(listing)
        self.counts[f"enumerate {'exact' if listing.exact else 'complete' if listing.complete else 'stopped'}"] += 1
        if not listing.exact:
            return
        sets = [frozenset(one) for k in range(self.n + 1) for one in combinations(range(self.n), k)]
        enough = [one for one in sets if self.grid.suffices(self.at, one)]
        minimal = {one for one in enough if not any(other < one for other in enough)}
        assert {frozenset(one.features) for one in found if one.kind == "abductive"} == minimal

    def certified(self, method: str, certificate: bool, **options: Any) -> Explanation:
        """An explanation whose certificate, if one is asked for and can be made, passes every check."""
        if not certificate:
            return self.ask(method, **options)
        try:
            found = self.ask(method, certificate=True, **options)
        except NoCertificateError as error:
            if "rounding" not in str(error):
                raise
            self.counts["no certificate"] += 1
            return self.ask(method, **options)
        assert found.certificate is not None
        failed = [check for check in check_certificate(found.certificate, found.model) if not check.passed]
        assert not failed, failed
        self.counts[f"certificate {found.certificate['kind']} {found.certificate['status']}"] += 1
        return found

    def verified(self, found: Explanation) -> None:
        """A second look confirms what the status claims."""
        second = found.verify()
        unknown = {"the distance, by these weights"}  # functions, and tables of groups
        if self.explainer.model.plausible is not None:
            unknown.add("claims about plausible rows only")
        rounded = self.explainer.model.scores.margin and all("rounding" in problem for problem in second.problems)
        if second.status != "undecided" or not rounded:
            assert second.ok or (second.status == "not checked" and unknown >= {*second.not_checked}), (found, second)


def check(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Ask everything about some rows of a case."""
    some = len(case.X) > 0  # none where no row of the table is possible
    given = case.X if (rng.random() < 0.5 and some) or case.needs_rows else None
    explainer = Explainer(case.model, X=given, **case.options)
    if rng.random() < 0.5 and some:  # rows as people have them, with their gaps
        explainer = Explainer(explainer.model.with_gaps_of(explainer.model.read(case.X[:3])))
    grid = Grid(explainer, rng, case.possible)
    counts["models"] += 1
    if grid.size > MOST_ROWS:
        counts["models too large"] += 1
        return
    if case.possible is not None:
        cells = explainer.model.grid.cells_of(grid.all_rows)
        allowed = [explainer.model.scores.allows(row) for row in cells]
        possible = case.possible(grid.all_rows)
        if explainer.model.plausible is None:
            assert allowed == possible.tolist(), "the clauses are another condition"
            assert len(grid.rows), "no row is possible, and nobody said so"
        assert not (possible & ~np.array(allowed)).any(), "a possible row is not allowed"
        counts["rows impossible"] += len(grid.all_rows) - len(grid.rows)
    often = 1.0 if explainer.model.plausible is None else 0.0  # certificates are about all rows
    for at in rng.choice(len(grid.rows), min(3, len(grid.rows)), replace=False).tolist():
        checks = Checks(explainer, grid, at, counts)
        counts["rows"] += 1
        checks.abductive(certificate=bool(rng.random() < 0.4 * often))
        checks.abductive(certificate=bool(rng.random() < 0.2 * often), smallest=True)
        checks.inflated(certificate=bool(rng.random() < 0.6 * often))
        checks.contrastive(certificate=bool(rng.random() < 0.3 * often))
        checks.contrastive(certificate=bool(rng.random() < 0.2 * often), smallest=True)
        checks.counterfactual(str(rng.choice(["l1", "l2", "linf", "changes"])), rng, bool(rng.random() < 0.6 * often))
        checks.possible(rng, bool(rng.random() < 0.6 * often))
        checks.enumeration()


def make(
    seed: int, number: int, models: Sequence[Callable[[np.random.Generator], Case]] = MODELS
) -> tuple[Case, np.random.Generator]:
    """The case of a number, and the generator with which to go on."""
    rng = np.random.default_rng([seed, number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models[number % len(models)](rng), rng


@contextmanager
def drawn(
    number: int, models: Sequence[Callable[[np.random.Generator], Case]] = MODELS
) -> Iterator[tuple[Case, np.random.Generator]]:
    """The case of a number of a campaign; what is raised about it says what it is, and warnings are none of it."""
    case, rng = make(*divmod(number, _records.CASES), models)
    with _records.about(f"{case.told} {dict(case.options)}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield case, rng


def counted(
    number: int,
    *checks: Callable[[Case, np.random.Generator, Counter[str]], None],
    models: Sequence[Callable[[np.random.Generator], Case]] = MODELS,
    refused: tuple[str, str] | None = None,
) -> Counter[str]:
    """What checks count of the case of a number; AssertionError at the first fault.

    ``refused`` is what a TypeError of the first check says of a model that is rightly not read, and what counts it.
    """
    counts: Counter[str] = Counter()
    with drawn(number, models) as (case, rng):
        try:
            checks[0](case, rng, counts)
        except TypeError as error:
            if refused is None or refused[0] not in str(error):
                raise
            counts[f"refused: {refused[1]}"] += 1
            return counts
        for check_more in checks[1:]:
            check_more(case, rng, counts)
    return counts


def one_case(number: int) -> Counter[str]:
    """How many models, rows, and explanations of each status a case had; AssertionError at the first fault."""
    return counted(number, check)
