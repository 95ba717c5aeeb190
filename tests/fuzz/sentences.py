"""What explanations print, read back by hand and held against the model: unseen rows, printed numbers, and beside.

A case is a small table of numbers of all sizes, and of categories and gaps where the model takes them; a model of one
library or another, behind a scaler or an encoder or alone; and a few questions about a row of it. Each sentence of an
answer is parsed by :mod:`tests.sentences`, rows are made that it speaks of, and the model itself is asked about them.
"""

from __future__ import annotations

import importlib.util
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from proofwood import (
    DataError,
    Explainer,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    proved_rules,
)
from proofwood.data.kinds import MOMENTS, Kind
from proofwood.explain.answers.robustness import Robustness
from proofwood.explain.explanation import Explanation
from proofwood.markup import escaped
from proofwood.model import evaluate
from proofwood.printable import in_list, in_sentence, printable
from proofwood.report.words import Words
from tests.fuzz import _records
from tests.printed import moment_of
from tests.sentences import NUMBER, SIGNS, Reader

N_ROWS = 60
"""Rows that are made for a sentence."""
LEVELS = ("red", "blue", "green", "no one", "x > 1")
TIME = 5.0


class UntrueError(Exception):
    """A sentence that does not hold of a row."""


# --------------------------------------------------------------------------------------------------- tables and models


def _numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    near = [0.1, 0.2, 0.3, 0.30000000000000004, 1.0, math.nextafter(1.0, 2.0), math.nextafter(0.3, 0.0), 0.0, -0.0]
    makers: list[Callable[[], np.ndarray]] = [
        lambda: rng.normal(size=n).round(int(rng.integers(0, 4))),
        lambda: rng.normal(size=n) * 10.0 ** int(rng.integers(-9, 10)),
        lambda: rng.normal(size=n).astype(np.float32).astype(float),
        lambda: rng.choice(near, n),
        lambda: rng.integers(-4, 20, n).astype(float),
        lambda: 2.0**24 + rng.integers(0, 40, n),
        lambda: 1.7e9 + rng.integers(0, 3000, n),
        lambda: rng.integers(0, 5, n) / 3.0,
        lambda: 1e6 * np.round(rng.random(n), 3) + 0.125,
        lambda: rng.lognormal(2, 1, n).round(2),
        lambda: 35.5 + 1e-7 * rng.integers(-30, 30, n),
    ]
    return makers[int(rng.integers(0, 11))]()


@dataclass
class Case:
    """A model, its table, and how rows become answers.

    Parameters
    ----------
    model : fitted
    X : the table; categories are texts
    told : for the record
    options : of the explainer
    whole : columns that hold integers
    is_regressor : whether it predicts numbers
    single : columns of float32 behind steps, which compute in the type of a table
    """

    model: Any
    X: pd.DataFrame
    told: str
    options: dict[str, Any] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    is_regressor: bool = False
    single: frozenset[str] = frozenset()

    def frame(self, rows: dict[str, np.ndarray]) -> pd.DataFrame:
        """Rows as the model takes them."""
        made: dict[str, Any] = {}
        for name in self.X.columns:
            values = rows[name]
            if self.X[name].dtype.kind == "O":
                names = np.array([*LEVELS, None, "never seen"], dtype=object)
                made[name] = names[
                    np.where(np.isnan(values), len(LEVELS), np.where(values < 0, -1, values)).astype(int)
                ]
            else:
                typed = name in self.whole or name in self.single
                made[name] = values.astype(self.X[name].dtype) if typed else values
        return pd.DataFrame(made, columns=self.X.columns)

    def numbers(self, frame: pd.DataFrame) -> dict[str, np.ndarray]:
        """Rows by column as numbers."""
        code = {level: float(place) for place, level in enumerate(LEVELS)}
        return {
            name: np.array([math.nan if v is None or v != v else code[v] for v in frame[name]])
            if frame[name].dtype.kind == "O"
            else frame[name].to_numpy(dtype=float)
            for name in frame.columns
        }

    def typed(self, name: str, values: np.ndarray) -> np.ndarray:
        """Numbers that the column can hold."""
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(float) if name in self.single else values

    def labels(self, rows: dict[str, np.ndarray]) -> Any:
        """What the model itself predicts: labels as texts, or numbers."""
        found = self.model.predict(self.frame(rows))
        return np.asarray(found, dtype=float) if self.is_regressor else np.array([str(one) for one in found.tolist()])

    def are(self, labels: Any, told: str) -> np.ndarray:
        """(n_rows,) whether predictions are what a label says, or one of several."""
        if not self.is_regressor:
            return labels == told
        word, _, cut = told.rpartition(" ")
        compare = {"at most": np.less_equal, "above": np.greater, "below": np.less, "at least": np.greater_equal}
        return compare[word](labels, float(cut))


def _model(rng: np.random.Generator) -> tuple[str, Any, dict[str, Any]]:
    """A name, a model, and what it takes: ``gaps``, ``own``, ``number``."""
    n, depth = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    kinds = ["tree", "forest", "forest", "extra", "boosted", "hist", "hist", "regressor", "own", "own"]
    kinds += [name for name in ("xgboost", "xgboost", "lightgbm") if importlib.util.find_spec(name)]
    kind = str(rng.choice(kinds))
    if kind == "own":
        made: Any = [
            OptimalTreeClassifier(max_depth=min(depth, 3), time_limit=TIME),
            MinimalTreeClassifier(on_conflict="majority", max_errors=10, time_limit=TIME),
            OptimalBDDClassifier(min(depth, 3), max_thresholds=5, time_limit=TIME),
            OptimalDiagramClassifier((1, 2, 2), alpha=0.01, max_thresholds=5, time_limit=TIME),
        ][int(rng.integers(4))]
        return kind, made, {"own": True, "gaps": isinstance(made, OptimalTreeClassifier)}
    if kind == "xgboost":
        from xgboost import XGBClassifier

        return kind, XGBClassifier(n_estimators=n, max_depth=depth, min_child_weight=0, n_jobs=1), {"gaps": True}
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        small = {"min_child_samples": 1, "min_data_in_bin": 1, "min_child_weight": 0, "verbose": -1, "n_jobs": 1}
        return kind, LGBMClassifier(n_estimators=n, num_leaves=6, **small), {"gaps": True}
    if kind == "hist":
        options = {"max_iter": n, "max_leaf_nodes": 6, "min_samples_leaf": 1, "early_stopping": False}
        return kind, HistGradientBoostingClassifier(**options), {"gaps": True}
    if kind == "regressor":
        return kind, RandomForestRegressor(n, max_depth=depth, random_state=0), {"number": True}
    made = {
        "tree": DecisionTreeClassifier(max_depth=depth, random_state=0),
        "forest": RandomForestClassifier(n, max_depth=depth, random_state=0),
        "extra": ExtraTreesClassifier(n, max_depth=depth, random_state=0),
        "boosted": GradientBoostingClassifier(n_estimators=n, max_depth=depth, random_state=0),
    }[kind]
    return kind, made, {}


def draw(rng: np.random.Generator) -> Case:
    """A case."""
    kind, model, takes = _model(rng)
    n, width = int(rng.integers(25, 120)), int(rng.integers(1, 5))
    words = ["income", "net debts", "x", "x1", "age", "a-b"]
    if kind == "lightgbm":  # makes net_debts of it
        words.remove("net debts")
    names = [str(name) for name in rng.permutation(words)[:width]]
    X = pd.DataFrame({name: _numbers(rng, n) for name in names})
    scaled = kind != "own" and rng.random() < 0.35
    score = rng.normal(0, 0.3, n)
    for name in names:
        score += rng.normal() * (X[name].rank(pct=True) > rng.random()) + 0.3 * rng.normal() * X[name].rank(pct=True)
    whole = [name for name in names if (X[name] == X[name].round()).all() and rng.random() < 0.5]
    X = X.astype(dict.fromkeys(whole, "int64"))
    gaps = [name for name in names if name not in whole and rng.random() < 0.3]
    single = kind != "own" and not whole and rng.random() < 0.2
    if single:
        X = X.astype(np.float32)
    if (takes.get("gaps") or scaled) and rng.random() < 0.5:
        for name in gaps:
            X.loc[rng.random(n) < 0.2, name] = np.nan
    categories = (scaled or kind == "own") and rng.random() < 0.5
    if categories:
        X["colour"] = rng.choice(np.array(LEVELS[: int(rng.integers(2, 6))], dtype=object), n)
        score += rng.normal(size=len(LEVELS))[[LEVELS.index(level) for level in X["colour"]]]
    cuts = np.quantile(score, np.arange(1, k := int(rng.integers(2, 4))) / k)
    y: Any = np.searchsorted(cuts, score)
    if len(np.unique(y)) < 2:
        y = np.arange(n) % 2
    _, y = np.unique(y, return_inverse=True)
    if rng.random() < 0.5 and kind != "xgboost":
        y = np.array(["no", "maybe so", "yes"])[y]
    options: dict[str, Any] = {}
    if takes.get("number"):
        y = (score * 10.0 ** int(rng.integers(-3, 4))).round(int(rng.integers(0, 9)))
        word, cut = str(rng.choice([">", ">=", "<", "<="])), float(np.quantile(y, 0.3 + 0.4 * rng.random()))
        options["target"] = (word, cut)
    if scaled:
        scaler = [StandardScaler(), MinMaxScaler(), RobustScaler()][int(rng.integers(3))]
        steps = [SimpleImputer(), scaler] if X[names].isna().any().any() and not takes.get("gaps") else [scaler]
        parts = [(make_pipeline(*steps), names)]
        if categories:
            parts.append((OneHotEncoder(handle_unknown="ignore"), ["colour"]))
        model = make_pipeline(make_column_transformer(*parts, sparse_threshold=0), model)
    model.fit(X, y)
    told = f"{kind}{' scaled' if scaled else ''}, {X.dtypes.to_dict()}"
    given = rng.random() < 0.7 or bool(X.isna().any().any()) or categories or single
    if given:
        options["X"] = X
    always = frozenset(whole) if given or kind == "own" else frozenset()
    typed = frozenset(names) if single and scaled else frozenset()
    return Case(model, X, told, options, always, bool(takes.get("number")), typed)


# ------------------------------------------------------------------------------------------------------------- checks


class Checks:
    """The sentences about one row of a case; the first that is untrue is an UntrueError."""

    def __init__(self, case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
        self.case, self.rng, self.counts = case, rng, counts
        self.explainer = Explainer(case.model, time_limit=TIME, **case.options)
        names = list(case.X.columns)
        code = {level: float(place) for place, level in enumerate(LEVELS)}
        self.reader = Reader(names, {name: code.__getitem__ for name in names if case.X[name].dtype.kind == "O"})
        self.at = int(rng.integers(len(case.X)))
        self.given = case.X.iloc[[self.at]]
        model = self.explainer.model
        self.explainer = Explainer(model.with_gaps_of(model.read(self.given)))
        self.inputs = {given.name: given for given in self.explainer.model.inputs}
        self.table = case.numbers(case.X)
        self.own = {name: values[[self.at]] for name, values in self.table.items()}
        self.now = case.labels(self.own)
        self.cuts = {name: self._cuts(name) for name in names}

    def _cuts(self, name: str) -> np.ndarray:
        """Thresholds of the model, where sentences are most in danger."""
        grid = self.explainer.model.grid
        if name not in self.inputs:
            return np.empty(0)
        mine = [grid.columns[g] for g in grid.of_input[list(self.inputs).index(name)]]
        return np.concatenate([np.empty(0), *(g.thresholds for g in mine if g.role.startswith("value"))])

    # ----------------------------------------------------------------------------------------------------- rows

    def pool(self, name: str, numbers: list[float] | None = None) -> np.ndarray:
        """Values of a column: of the table, thresholds and printed numbers and the floats beside, far ones, gaps."""
        given = self.inputs.get(name)
        if name in self.reader.parsers:
            found = np.unique(self.table[name][~np.isnan(self.table[name])])
            return np.append(found, [-1.0] * bool(given is not None and given.other))
        told = np.array([v for v in numbers or [] if math.isfinite(v)])
        near = np.concatenate([self.rng.choice(self.cuts[name], 8) if self.cuts[name].size else [], np.tile(told, 3)])
        values = self.table[name][~np.isnan(self.table[name])]
        spread = float(np.ptp(values)) or 1.0
        found = np.concatenate(
            [
                *(near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), self.rng.choice(values, 12)),
                self.rng.uniform(values.min() - spread, values.max() + spread, 8),
                near + self.rng.normal(size=near.size) * 1e-7 * np.abs(near),
                [math.nan] * (2 * bool(given is not None and given.missing)),
            ]
        )
        whole = given is not None and given.whole
        return np.unique(np.floor(found)) if whole or name in self.case.whole else self.case.typed(name, found)

    def rows(self, texts: list[str]) -> dict[str, np.ndarray]:
        """Rows that satisfy conditions; columns of which nothing is said have any value."""
        by_name: dict[str, list[str]] = {}
        for text in texts:
            by_name.setdefault(self.reader.name_of(text), []).append(text)
        found = {}
        for name in self.reader.names:
            asked = by_name.get(name, [])
            values = self.pool(name, [v for text in asked for v in self.reader.values(text)])
            values = np.append(values, self.own[name]) if asked else values
            for text in asked:
                values = values[self.reader.holds(text, {name: values})]
            if not values.size:
                raise UntrueError(f"{texts} leaves out the row itself: {self.own[name]}")
            found[name] = self.rng.choice(values, N_ROWS)
        return found

    def require(self, sentence: str, rows: dict[str, np.ndarray], fits: Any) -> None:
        """UntrueError at the first row that does not fit."""
        self.counts["rows"] += len(fits)
        self.counts["sentences"] += 1
        if not np.all(fits):
            at = int(np.flatnonzero(~np.asarray(fits))[0])
            row = {name: values[at].item() for name, values in rows.items()}
            raise UntrueError(f"{sentence!r} is not true of {row}, which is {self.case.labels(rows)[at]!r}")

    # ------------------------------------------------------------------------------------------------ explanations

    def ask(self, method: str, **options: Any) -> Explanation | None:
        found: Explanation = getattr(self.explainer, method)(self.given, **options)
        self.explained(found, method)
        return found

    def explained(self, found: Explanation, method: str) -> None:
        """Every sentence of an explanation."""
        self.counts["explanations"] += 1
        self.counts[f"{method} {found.status}"] += 1
        text = found.rule()
        said = found.to_dict()
        assert said["text"] == text
        assert str(found).startswith(text)
        assert escaped(text) in found.to_html()
        if not self.case.are(self.now, str(found.prediction)).all():
            raise UntrueError(f"{found}: the model predicts {self.now}")
        if found.status in ("none", "unknown", "impossible"):
            return
        if found.kind == "abductive":
            self.rule(text)
            self.rule(found.rule(None))
            self.rule(found.rule(2))
            parts = said["conditions"]
        else:
            for sentence in (text, found.rule(None), found.rule(2)):
                self.change(sentence, found)
            parts = said["changes"]
        head = text.rpartition(" -> ")[0]
        assert " and ".join(part["text"] for part in parts) == ("" if head in ("always", "nothing") else head)

    def rule(self, sentence: str) -> None:
        """All rows that meet the conditions have the class, and the row meets them."""
        texts, label = self.reader.rule(sentence)
        for text in texts:
            if not self.reader.holds(text, self.own).all():
                raise UntrueError(f"{sentence!r} leaves out the row: {text}")
        rows = self.rows(texts)
        labels = self.case.labels(rows)
        if label.startswith("not "):
            fits = ~np.any([self.case.are(labels, one) for one in label[4:].split(" or ")], axis=0)
        else:
            fits = self.case.are(labels, label)
        self.require(sentence, rows, fits)

    def change(self, sentence: str, found: Explanation) -> None:
        """The row with the values that are told as its own has its class, and with the changes the other one."""
        changes, label = self.reader.changes(sentence)
        for then in (False, True):
            rows = {name: values.copy() for name, values in self.own.items()}
            for name, (now, to) in changes.items():
                if then or now is not None:
                    rows[name][:] = to if then else now
            labels = self.case.labels(rows)
            if found.exact or not then:
                told = label if then else str(found.prediction)
                self.require(f"{sentence}{'' if then else ' (as it is)'}", rows, self.case.are(labels, told))
            for text in found.constraints if then else ():
                quoted = {name: values[0] for name, values in rows.items()}
                names = {name: f"c{k}" for k, name in enumerate(quoted)}
                for name, short in sorted(names.items(), key=lambda pair: -len(pair[0])):
                    text = text.replace(f"`{name}`", short)
                values = {short: quoted[name] for name, short in names.items()}
                self.require(f"{sentence}; {text}", rows, [bool(eval(text, {}, values))])

    # ---------------------------------------------------------------------------------------------------- distances

    def robustness(self) -> None:
        """No row within the radius has another class, and the changes lie at most at the distance that is told."""
        metric = str(self.rng.choice(["linf", "linf", "l1", "l2"]))
        found = self.explainer.robustness(self.given, metric=metric)
        self.counts["explanations"] += 1
        self.counts[f"robustness {found.status}"] += 1
        text = str(found)
        again = Robustness.of(found.nearest)
        assert str(again) == text
        if found.status == "constant":
            gaps = self.explainer.model.with_gaps_of(found.nearest.row[np.newaxis]).missing
            assert ("no value that becomes missing" if gaps else "wherever the values are") in text
            rows = self.rows([])
            for name, own in self.own.items():  # a value that is there does not go away
                rows[name] = np.where(np.isnan(rows[name]), own, rows[name])
            self.require(text, rows, self.case.are(self.case.labels(rows), str(found.nearest.prediction)))
            return
        radius = float(self.told(rf"within less than ({NUMBER}) \({metric}\)", text))
        if not radius <= found.radius:
            raise UntrueError(f"{text}: {found.radius!r} is proved")
        if found.nearest.witness_cells:
            at = float(self.told(rf"; at ({NUMBER}): ", text))
            if not at >= found.upper:
                raise UntrueError(f"{text}: it is at {found.upper!r}")
            self.change(found.nearest.rule(), found.nearest)
        rows, inside = self.within(radius, metric)
        fits = self.case.are(self.case.labels(rows), str(found.nearest.prediction))
        self.require(text, rows, fits | ~inside)
        self.counts["rows within radii"] += int(inside.sum())

    def within(self, radius: float, metric: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Rows around the row, and which of them are nearer than a radius, exactly."""
        n = 4 * N_ROWS
        rows = {name: np.repeat(own, n) for name, own in self.own.items()}
        numeric = [n_ for n_ in self.reader.names if n_ not in self.reader.parsers and not np.isnan(self.own[n_][0])]
        for k in range(n):
            direction = self.rng.choice([-1.0, 0.0, 1.0], len(numeric))
            if metric == "linf":
                sizes = radius * self.rng.choice([1.0, 1.0, 1 - 1e-9, self.rng.random()], len(numeric))
            else:
                shares = self.rng.dirichlet(np.ones(max(1, len(numeric)))) if numeric else np.empty(0)
                if self.rng.random() < 0.5 and numeric:
                    shares = np.eye(len(numeric))[self.rng.integers(len(numeric))]
                sizes = radius * (shares if metric == "l1" else np.sqrt(shares))
            for name, sign, size in zip(numeric, direction, sizes, strict=True):
                value = rows[name][k] + sign * size
                given = self.inputs.get(name)
                if given is not None and given.whole:
                    value = math.floor(value) if sign > 0 else math.ceil(value)
                rows[name][k] = value
        rows = {name: self.case.typed(name, values) if name in numeric else values for name, values in rows.items()}
        power = 2 if metric == "l2" else 1
        inside = []
        for k in range(n):
            parts = [abs(Fraction(rows[name][k]) - Fraction(self.own[name][0])) for name in numeric]
            total = max(parts, default=Fraction(0)) if metric == "linf" else sum(p**power for p in parts)
            inside.append(total < Fraction(radius) ** power)
        return rows, np.array(inside)

    def told(self, pattern: str, text: str) -> str:
        found = re.search(pattern, text)
        assert found is not None, text
        return found[1]

    # ------------------------------------------------------------------------------------------------------ regions

    def region(self) -> tuple[dict[str, Any], list[str]]:
        """A region around the row, and conditions that say the same."""
        where: dict[str, Any] = {}
        texts = []
        for name, given in self.inputs.items():
            own = self.own[name][0]
            if self.rng.random() < 0.5 or math.isnan(own):
                continue
            if name in self.reader.parsers:
                where[name] = [LEVELS[int(own)]]
                texts.append(f"{name} = {LEVELS[int(own)]}")
                continue
            low, high = own - abs(own) * self.rng.random(), own + abs(own) * self.rng.random()
            if given.whole:
                low, high = math.floor(low), math.ceil(high)
            where[name] = (low, high)
            texts.append(f"{float(low)!r} <= {name} <= {float(high)!r}")
        return where, texts

    def range(self) -> None:
        """No row of the region gets less or more, and the rows get the ends."""
        where, texts = self.region()
        target = None
        classes = self.explainer.model.adapted.forest.classes.tolist()
        if classes:
            target = classes[int(self.rng.integers(len(classes)))]
        try:
            found = self.explainer.range(where, target=target)
        except TypeError:
            self.counts["no range"] += 1
            return
        self.counts["explanations"] += 1
        head, low_row, high_row = str(found).splitlines()
        ends = head.partition(", where ")[0].partition("; among ")[0]
        numbers = [float(one) for one in re.findall(NUMBER, ends)]
        least, greatest = numbers[-2:]  # the proved ends, if two others come before them
        place = None if target is None else classes.index(target)

        def given(rows: dict[str, np.ndarray]) -> np.ndarray:
            frame = self.case.frame(rows)
            if place is None:
                return np.asarray(self.case.model.predict(frame), dtype=float)
            return np.asarray(self.case.model.predict_proba(frame), dtype=float)[:, place]

        rows = self.rows(texts)
        for name in where:  # a limit asks for a value
            rows[name] = np.where(np.isnan(rows[name]), self.own[name], rows[name])
        got = given(rows)
        self.require(f"{head} in {where}", rows, (least <= got) & (got <= greatest))
        if found.exact:
            assert numbers[0] <= found.low
            assert found.high <= numbers[1]
        for line, end in ((low_row, found.low), (high_row, found.high)):
            one = self.as_rows(line.partition(": ")[2])
            self.require(f"{line} in {where}", one, given(one) == end)
            self.require(f"{line} in {where}", one, self.in_region(texts, one))

    def in_region(self, texts: list[str], rows: dict[str, np.ndarray]) -> np.ndarray:
        return np.all(
            [np.ones(len(next(iter(rows.values()))), dtype=bool), *(self.reader.holds(t, rows) for t in texts)], axis=0
        )

    def as_rows(self, text: str) -> dict[str, np.ndarray]:
        """A row in words as rows; columns that no tree tests are those of the row."""
        told = self.reader.row(text)
        return {name: np.array([told.get(name, own[0])]) for name, own in self.own.items()}

    def possible(self) -> None:
        """The rows have the classes, and no row of the region has one that is impossible."""
        where, texts = self.region()
        found = self.explainer.possible(where)
        self.counts["explanations"] += 1
        rows = self.rows(texts)
        for name in where:
            rows[name] = np.where(np.isnan(rows[name]), self.own[name], rows[name])
        labels = self.case.labels(rows)
        for line in str(found).splitlines():
            label, _, rest = line.partition(": ")
            word, _, row = rest.partition(", ")
            if word == "impossible":
                self.require(f"{line} in {where}", rows, ~self.case.are(labels, label))
            elif word == "possible":
                one = self.as_rows(row)
                self.require(f"{line} in {where}", one, self.case.are(self.case.labels(one), label))
                self.require(f"{line} in {where}", one, self.in_region(texts, one))

    def independence(self) -> None:
        """Two rows that differ in the column have the classes that are told, or no two rows have different ones."""
        name = str(self.rng.choice(self.explainer.feature_names))
        if name not in self.own:
            return
        found = self.explainer.independent_of(name)
        self.counts["explanations"] += 1
        text = str(found)
        if found.holds:
            rows = self.rows([])
            other = {**rows, name: self.rng.choice(self.pool(name), N_ROWS)}
            gap = np.isnan(rows[name]) != np.isnan(other[name])
            same = self.case.labels(rows) == self.case.labels(other)
            if self.case.is_regressor:
                told = str(self.explainer.model.classes[0])
                same = self.case.are(self.case.labels(rows), told) == self.case.are(self.case.labels(other), told)
            self.require(text, other, same | gap)
        elif found.holds is False:
            said = re.fullmatch(r"the class depends on .*?: (.+) with (.+) and (.+) with (.+), where ?(.*)", text)
            assert said is not None, text
            for label, value in ((said[1], said[2]), (said[3], said[4])):
                one = self.as_rows(said[5])
                one[name] = np.array([self.reader.value(name, value)])
                self.require(text, one, self.case.are(self.case.labels(one), label))

    # ------------------------------------------------------------------------------------------------------- tables

    def batch(self) -> None:
        """The texts of a table of explanations are those of the rows."""
        kind = str(self.rng.choice(["abductive", "contrastive", "counterfactual"]))
        X = self.case.X.iloc[:12]
        options = {"inflate": True} if kind == "abductive" else {}
        found = self.explainer.explain(X, kind=kind, **options)
        frame = found.to_frame()
        for at in range(len(X)):
            self.at = at
            self.given = X.iloc[[at]]
            self.own = {name: values[[at]] for name, values in self.table.items()}
            self.now = self.case.labels(self.own)
            assert frame["text"][at] == found[at].rule()
            self.explained(found[at], f"batch {kind}")

    def rules(self) -> None:
        """All rows that meet a rule have its class."""
        found = proved_rules(self.explainer, self.case.X, max_rules=4, time_limit=TIME)
        self.counts["explanations"] += len(found)
        for rule in found:
            for sentence in (rule.text(), rule.text(None), rule.text(3)):
                texts, label = self.reader.rule(sentence)
                mine = [self.reader.holds(text, self.table) for text in texts]
                met = np.flatnonzero(np.all(mine, axis=0)) if mine else np.arange(len(self.case.X))
                if not met.size:
                    self.counts["rules without a row in words"] += 1
                    continue
                self.own = {name: values[met[[0]]] for name, values in self.table.items()}
                rows = self.rows(texts)
                self.require(sentence, rows, self.case.are(self.case.labels(rows), label))


def check(case: Case, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Ask a few questions about a row."""
    checks = Checks(case, rng, counts)
    counts["models"] += 1
    checks.ask("abductive")
    checks.ask("abductive", inflate=True)
    checks.ask("abductive", smallest=True)
    checks.ask("contrastive")
    for metric in rng.choice(["l1", "l2", "linf", "changes"], 2, replace=False).tolist():
        checks.ask("counterfactual", metric=metric)
    numeric = [
        n for n, g in checks.inputs.items() if n not in checks.reader.parsers and not math.isnan(checks.own[n][0])
    ]
    if len(numeric) > 1 and not any(given.missing for given in checks.inputs.values()):
        one, other = (str(name) for name in rng.choice(numeric, 2, replace=False))
        gap = float(checks.own[one][0] - checks.own[other][0])
        checks.ask(
            "counterfactual", constraints=[f"`{one}` - `{other}` <= {gap!r}" if gap >= 0 else f"`{one}` <= `{other}`"]
        )
    for question in (checks.robustness, checks.range, checks.possible, checks.independence, checks.rules, checks.batch):
        if rng.random() < 0.7:
            question()


# ---------------------------------------------------------------------------------------------- models of this package


class OwnChecks:
    """The sentences of explanations of an own model with columns of all types, part by part of ``to_dict``.

    Parameters
    ----------
    model : fitted
    frame : unseen rows
    rng : which rows are asked about
    counts : of sentences and rows
    """

    def __init__(self, model: Any, frame: pd.DataFrame, rng: np.random.Generator, counts: Counter[str]) -> None:
        self.model, self.rng, self.counts = model, rng, counts
        self.explainer = Explainer(model, time_limit=TIME)
        self.columns = model.schema_.columns
        self.names = [given.name for given in self.explainer.model.inputs]
        self.numbers = model.to_numbers(frame if model.schema_.by_name else frame.to_numpy(dtype=float))
        table = model.model_
        self.cuts = {
            j: table.threshold[(table.feature == j) & np.isfinite(table.threshold)] for j in range(len(self.columns))
        }

    def predicted(self, rows: np.ndarray) -> list[str]:
        """Labels of rows of numbers."""
        return [str(label) for label in self.model.classes_[evaluate.predict(self.model.model_, rows)].tolist()]

    def number(self, j: int, text: str) -> float:
        """A printed value of a column as its number."""
        column = self.columns[j]
        if text in ("missing", "(missing)"):
            return math.nan
        if column.levels:
            known = [*column.levels, *map(printable, column.levels), *map(in_list, column.levels)]
            return float(known.index(text) % len(column.levels)) if text in known else float(len(column.levels))
        if column.kind in MOMENTS:
            return moment_of(text, column)
        return Reader([]).value("", text)

    def holds(self, part: dict[str, Any], rows: np.ndarray) -> np.ndarray:
        """Which rows a condition lets in, by its text; of categories by the list of them."""
        j = self.names.index(part["feature"])
        values = rows[:, j]
        if part["values"] is not None and self.columns[j].kind is not Kind.BOOLEAN:
            codes = [self.number(j, text) for text in part["values"]]
            gap = part["missing"] or any("(missing" in text for text in part["values"])
            return np.where(np.isnan(values), gap, np.isin(values, codes))
        name = in_sentence(part["feature"])
        return Reader([name], {name: lambda text: self.number(j, text)}).holds(part["text"], {name: values})

    def around(self, row: np.ndarray, parts: list[dict[str, Any]]) -> np.ndarray:
        """Rows that meet conditions: those that are unseen, and others at thresholds and beside."""
        rows = self.numbers[self.rng.integers(0, len(self.numbers), 4 * N_ROWS)].copy()
        for j, given in enumerate(self.explainer.model.inputs):
            own = self.rng.random(len(rows)) < 0.5
            rows[own, j] = row[j]
            if self.cuts[j].size and not self.columns[j].levels:
                at = np.flatnonzero(self.rng.random(len(rows)) < 0.4)
                near = self.rng.choice(self.cuts[j], at.size)
                beside = [np.floor(near), np.floor(near) + 1]
                if not given.whole and self.columns[j].kind not in MOMENTS:
                    beside = [near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)]
                rows[at, j] = np.choose(self.rng.integers(0, len(beside), at.size), beside)
            gap = np.isnan(rows[:, j])
            if not given.missing:
                rows[gap, j] = row[j]
            if self.columns[j].levels and not given.other:
                unknown = rows[:, j] >= len(self.columns[j].levels)
                rows[unknown, j] = row[j]
        inside = np.ones(len(rows), dtype=bool)
        for part in parts:
            inside &= self.holds(part, rows)
        return rows[inside]

    def require(self, text: str, rows: np.ndarray, told: str) -> None:
        labels = self.predicted(rows)
        self.counts["sentences"] += 1
        self.counts["rows of sentences"] += len(rows)
        for at, label in enumerate(labels):
            if label != told:
                raise UntrueError(f"{text!r} is not true of {dict(zip(self.names, rows[at], strict=True))}: {label!r}")

    def explained(self, row: np.ndarray, found: Explanation) -> None:
        """Every part of an explanation."""
        self.counts[f"{found.kind} {found.status}"] += 1
        said = found.to_dict()
        if found.status in ("none", "unknown"):
            return
        if found.kind == "abductive":
            for part in said["conditions"]:
                if not self.holds(part, row[np.newaxis])[0]:
                    raise UntrueError(f"{part['text']!r} leaves out the row {row.tolist()}")
                assert part["text"] in said["text"]
            self.require(said["text"], self.around(row, said["conditions"]), str(found.prediction))
            self.reported(found, self.around(row, []))
            return
        then = row.copy()
        for part in said["changes"]:
            j, name = self.names.index(part["feature"]), in_sentence(part["feature"])
            one = Reader([name], {name: lambda text, j=j: self.number(j, text)})
            assert part["text"] in said["text"]
            _, now, to = one.change(part["text"])
            if now is not None:
                self.require(
                    part["text"], np.where(np.arange(row.size) == j, now, row)[np.newaxis], str(found.prediction)
                )
            then[j] = to
        self.require(said["text"], then[np.newaxis], str(said["reached"]))

    def reported(self, found: Explanation, rows: np.ndarray) -> None:
        """What a report says of numbers: the same rows meet its conditions."""
        words = Words(self.model.model_, self.model._names())
        for condition, part in zip(found.conditions, found.to_dict()["conditions"], strict=True):
            if self.columns[condition.feature].kind not in (Kind.NUMERIC, Kind.INTEGER):
                continue
            text = words.condition(condition).removeprefix(f"{in_sentence(words.name(condition.feature))} ")
            told = re.fullmatch(rf"(?:([>≥]) ({NUMBER}))?(?: and )?(?:([<≤]) ({NUMBER}))?( or missing)?", text)
            single = re.fullmatch(rf"is (just (?:above|below) )?({NUMBER})( or missing)?", text)
            if told is None and single is None:
                assert text in ("is missing", "is not missing"), text
                continue
            values = rows[:, condition.feature]
            if single is not None:
                holds = values == Reader([]).value("", (single[1] or "") + single[2])
            else:
                holds = np.ones(len(values), dtype=bool)
                for sign, number in ((told[1], told[2]), (told[3], told[4])):
                    if sign is not None:
                        holds &= SIGNS[sign.replace("≥", ">=").replace("≤", "<=")](values, float(number))
            holds = np.where(np.isnan(values), text.endswith(" or missing"), holds)
            self.counts["conditions of reports"] += 1
            if not np.array_equal(holds, self.holds(part, rows)):
                raise UntrueError(f"the report says {text!r} where the explanation says {part['text']!r}")


def of_own_model(model: Any, frame: pd.DataFrame, rng: np.random.Generator, counts: Counter[str]) -> None:
    """Explanations of two unseen rows of an own model, each sentence held against the model."""
    if model.model_.normals is not None:
        return  # of weighted sums
    checks = OwnChecks(model, frame, rng, counts)
    for at in rng.integers(0, len(frame), 2).tolist():
        row = checks.numbers[at]
        given = frame.iloc[[at]] if model.schema_.by_name else frame.iloc[[at]].to_numpy(dtype=float)
        checks.explainer = Explainer(model, time_limit=TIME)
        try:
            read = checks.explainer.model.read(given)
        except DataError as error:
            if "a category that the model does not know" not in str(error):
                raise
            counts["refused: unknown category"] += 1
            continue
        checks.explainer = Explainer(checks.explainer.model.with_gaps_of(read))
        for ask in (
            lambda: checks.explainer.abductive(given),  # noqa: B023 - called at once
            lambda: checks.explainer.abductive(given, inflate=True),  # noqa: B023
            lambda: checks.explainer.contrastive(given),  # noqa: B023
            lambda: checks.explainer.counterfactual(given),  # noqa: B023
        ):
            try:
                checks.explained(row, ask())
            except ValueError as error:
                if "too much for sums of prices" not in str(error):
                    raise
                counts["refused: prices"] += 1


def one_case(number: int) -> Counter[str]:
    """Counts of a case; UntrueError at the first sentence that does not hold."""
    counts: Counter[str] = Counter()
    rng = np.random.default_rng(divmod(number, _records.CASES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = draw(rng)
        with _records.about(case.told):
            check(case, rng, counts)
    return counts
