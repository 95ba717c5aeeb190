"""What is printed of own models, followed by hand on rows: texts, rules, reports and every export, against ``predict``.

A case is a table of columns of all types, a learner with options, and unseen rows: new ones, gaps, levels that
training did not have, values at the printed thresholds and one float beside. Each form is evaluated by
:mod:`tests.printed`. What is refused must say so in an ``ExportError``, and only for reasons that are listed here.
"""

from __future__ import annotations

import html
import importlib.util
import inspect
import math
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from proofwood import MinimalTreeClassifier, OptimalBDDClassifier, OptimalDiagramClassifier, OptimalTreeClassifier
from proofwood.data.kinds import CATEGORIES, Kind
from proofwood.data.moments import EPOCH
from proofwood.model.node_table import LEAF
from proofwood.report.words import Words
from proofwood.show.exports.source import ExportError
from proofwood.show.labels import shorten
from tests import printed
from tests.fuzz import _records, sentences
from tests.printed import Rows

NAMES = (
    *("income", "age", 'the "debt"', "count of select", "région", "x or y", "a<=b", "for", "class", "row", "isnan"),
    *("it's", "a`b", "a]b[", "a\\b", "100%", "{x}", "$1", ";--", "*/ x", "'''", "</script>", "group", "Order", "?>"),
    *("nan", "日付", "0", "value", "x[1]", "true", "null", "int", "bool", "leaf_of", "node_0", "read", "__proto__x"),
    *("a.b", ":p", "%s"),
)
TEXTS = (
    *(
        "north",
        "south",
        "o'hara",
        'sou"th',
        "wést\\east",
        "",
        " lead",
        "tail ",
        "a, b",
        "new\nline",
        "tab\t",
        "NA",
        "null",
    ),
    *("True", "1", "1.0", "x or y", "{z}", "日本", "?>", "${x}", "%s", "';--", "</script>", "rock and roll", "\u2028"),
    *("a  b", "a b"),
)
LABELS: tuple[tuple[Any, ...], ...] = (
    *(("no", "yes"), ("no", "maybe", 'it\'s "yes" & <é>'), ("a\\", "*/", "'''")),
    *((0, 1), (3, -5, 10**12), (False, True), (1.0, 2.0, -3.0)),
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "+05:45")
REFUSED = ("has durations", "has times with a time zone", "has no type")
"""What an export may say of a model that it does not hold."""
SENTENCES: tuple[Callable[[Any, pd.DataFrame, np.random.Generator, Counter[str]], None], ...] = (
    sentences.of_own_model,
)
"""Checks of the sentences of explanations of a model, each given the model, unseen rows, a generator, and counts.

They hold on rows what an explanation says in words: conditions, radii, ranges, distances, changes.
"""


class DifferenceError(Exception):
    """A printed form that decides otherwise than ``predict``."""


# -------------------------------------------------------------------------------------------------------------- tables


def _numbers(rng: np.random.Generator, n: int) -> Any:
    near = [0.1, 0.2, 0.30000000000000004, 0.3, 1.0, math.nextafter(1.0, 2.0), -0.0, 0.0, 1e-300, 1e300, 2.0**53]
    makers: list[Callable[[], Any]] = [
        lambda: rng.normal(size=n).round(int(rng.integers(0, 4))),
        lambda: rng.lognormal(3, 2, n).round(2),
        lambda: rng.normal(size=n) * 10.0 ** int(rng.integers(-12, 13)),
        lambda: rng.normal(size=n).astype(np.float32),
        lambda: rng.choice(near, n),
        lambda: rng.integers(-5, 30, n),
        lambda: 2**24 + rng.integers(0, 40, n),
        lambda: (rng.integers(0, 5, n) * 1000).astype(str(rng.choice(["int16", "int32", "int64"]))),
        lambda: rng.integers(0, 4, n) / 3.0,
    ]
    return makers[rng.integers(0, 9)]()


def _booleans(rng: np.random.Generator, n: int) -> Any:
    return rng.random(n) < 0.4


def _texts(rng: np.random.Generator, n: int) -> Any:
    levels = rng.choice(np.array(TEXTS, dtype=object), int(rng.integers(2, 7)), replace=False)
    values = levels[rng.integers(0, len(levels), n)]
    kind = rng.integers(0, 3)
    if kind == 0:
        return pd.Series(values, dtype=object)
    return pd.Series(pd.Categorical(values, list(levels), ordered=bool(kind == 2)))


def _typed_categories(rng: np.random.Generator, n: int) -> Any:
    moments, days = ["2021-01-01 10:30", "2021-05-01 00:00:01.5"], ["2021-01-01", "2021-05-01", "1969-12-31"]
    makers: list[Callable[[], Any]] = [
        lambda: rng.random(n) < 0.5,
        lambda: rng.choice([1.0, 2.0, 3.5, -0.25], n),
        lambda: rng.choice(np.array([0.1, 0.7, 3.0], dtype=np.float32), n),
        lambda: rng.choice([3, 1, 2, -7], n),
        lambda: pd.to_datetime(rng.choice(days, n)),
        lambda: pd.to_datetime(rng.choice(moments, n), format="ISO8601").tz_localize("Europe/Berlin"),
        lambda: np.array([date(2020, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 3, n)], dtype=object),
        lambda: pd.cut(rng.normal(size=n), [-9, -0.5, 0.5, 9]),
        lambda: pd.to_timedelta(rng.choice([1, 2, 60], n), unit="s"),
    ]
    values = makers[kind := int(rng.integers(0, 9))]()
    if kind == 7:  # intervals are categories
        return pd.Series(values)
    made = pd.Categorical(values)
    if rng.random() < 0.4:
        made = made.reorder_categories(rng.permutation(made.categories.astype(object)).tolist(), ordered=True)
    return pd.Series(made)


def _dates(rng: np.random.Generator, n: int) -> Any:
    days = pd.Timestamp("2019-06-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    kind = rng.integers(0, 4)
    if kind == 0:
        return pd.Series(days)
    if kind == 1:
        return pd.Series([day.date() for day in days], dtype=object)
    if kind == 2:
        return pd.Series(days.strftime("%Y-%m-%d").astype(object))
    return pd.Series(
        days + pd.to_timedelta(rng.integers(0, 86_400, n) * 10**6 + rng.integers(0, 2, n) * 500, unit="us")
    )


def _zoned(rng: np.random.Generator, n: int) -> Any:
    zone = str(rng.choice(ZONES))
    seconds = rng.integers(0, 3 * 86_400 * int(rng.choice([1, 100])), n)
    start = pd.Timestamp(str(rng.choice(["2021-03-27", "2021-10-30", "2021-11-06"])), tz="UTC")
    moments = start + pd.to_timedelta(seconds, unit="s")
    local: Any = zone if zone[0] != "+" else timezone(timedelta(hours=int(zone[1:3]), minutes=int(zone[4:])))
    return pd.Series(moments.tz_convert(local))


def _times(rng: np.random.Generator, n: int) -> Any:
    micro = rng.integers(0, 86_400, n) * 10**6
    if rng.random() < 0.5:
        return pd.Series(pd.to_timedelta(micro * 3, unit="us"))
    return pd.Series([(EPOCH + timedelta(microseconds=int(m))).time() for m in micro], dtype=object)


MAKERS = (
    *(_numbers, _numbers, _numbers, _booleans, _texts, _texts),
    *(_typed_categories, _typed_categories, _dates, _zoned, _times),
)


def table(rng: np.random.Generator, *, numeric: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows and unseen ones, of the same columns: each has two thirds of the values of the other."""
    n = int(rng.integers(20, 90))
    n_columns = int(rng.integers(1, 6))
    names = rng.choice(np.array(NAMES, dtype=object), n_columns, replace=False)
    train, fresh = {}, {}
    gaps = rng.random() < 0.5
    for name in names:
        maker = MAKERS[rng.integers(len(MAKERS))] if not numeric else (_numbers, _numbers, _booleans)[rng.integers(3)]
        values = pd.Series(maker(rng, n + 60))
        order = rng.permutation(n + 60)
        mine, other = values.iloc[order[:n]].reset_index(drop=True), values.iloc[order[n - 10 :]].reset_index(drop=True)
        if gaps and not numeric and rng.random() < 0.5:
            mine = _with_gaps(rng, mine)
            other = _with_gaps(rng, other) if mine.isna().any() else other
        train[name], fresh[name] = mine, other
    return pd.DataFrame(train), pd.DataFrame(fresh)


def _with_gaps(rng: np.random.Generator, values: pd.Series) -> pd.Series:
    at = rng.random(len(values)) < 0.2
    if not at.any() or at.all():
        return values
    if values.dtype == bool:
        values = values.astype("boolean" if rng.random() < 0.5 else object)
    elif pd.api.types.is_integer_dtype(values.dtype):
        values = values.astype("Int64" if rng.random() < 0.5 else float)
    values = values.copy()
    values[at] = None
    return values


def labels(rng: np.random.Generator, frame: pd.DataFrame) -> np.ndarray:
    """Classes in which columns have a part, with noise."""
    score = rng.normal(0, 0.4, len(frame))
    for name in frame:
        codes = pd.Series(pd.factorize(frame[name], sort=False)[0]).rank().to_numpy()
        by_value = (
            pd.Series(frame[name].astype(object)).rank(pct=True).to_numpy() if frame[name].dtype.kind in "fiu" else None
        )
        part = codes / max(codes.max(), 1) if by_value is None else np.nan_to_num(by_value, nan=0.7)
        score += rng.choice([-1.0, 1.0, 2.0]) * (np.abs(part - rng.random()) if rng.random() < 0.5 else part)
    of_class = LABELS[rng.integers(len(LABELS))]
    cuts = np.quantile(score, np.arange(1, len(of_class)) / len(of_class))
    y = np.array(of_class, dtype=object)[np.searchsorted(cuts, score)]
    return np.array(y.tolist()) if not isinstance(of_class[0], str) else y


def learner(rng: np.random.Generator) -> tuple[Any, bool]:
    """A learner with options, and whether it wants numbers without gaps."""
    pick = lambda *values: values[rng.integers(len(values))]  # noqa: E731 - one line, used ten times
    kind = pick("tree", "tree", "tree", "minimal", "bdd", "diagram", "oblique")
    options: dict[str, Any] = {"time_limit": 2.0}
    if kind == "tree":
        made: Any = OptimalTreeClassifier(pick(1, 2, 3, 4), min_samples_level=pick(1, 5), **options)
    elif kind == "minimal":
        made = MinimalTreeClassifier(on_conflict="majority", max_errors=pick(0, 3, 10), **options)
    elif kind == "bdd":
        made = OptimalBDDClassifier(pick(2, 3, 4), max_thresholds=pick(3, 6), **options)
    elif kind == "diagram":
        made = OptimalDiagramClassifier((1, 2, 3, 3)[: pick(2, 3, 4)], alpha=0.01, max_thresholds=6, **options)
    else:
        made = OptimalDiagramClassifier((1, 2), alpha=0.01, splits="oblique", **options)
    if "threshold_rule" in inspect.signature(type(made)).parameters:
        made.set_params(threshold_rule=pick("shortest", "shortest", "midpoint"))
    return made, kind == "oblique"


def unseen(rng: np.random.Generator, model: Any, fresh: pd.DataFrame) -> pd.DataFrame:
    """New rows, some of them moved to a threshold of the model or one step beside it, and some of unseen levels."""
    frame, model_table = fresh.copy(), model.model_
    n = len(frame)
    for node in model_table.splits():
        j, threshold = int(model_table.feature[node]), float(model_table.threshold[node])
        column = model.schema_.columns[j] if j >= 0 else None
        if column is None or not math.isfinite(threshold):
            continue
        at = rng.choice(n, max(2, n // 8), replace=False)
        _move(rng, frame, j, column, threshold, at)
    for j, column in enumerate(model.schema_.columns):
        if (
            column.kind in CATEGORIES
            and frame.dtypes.iloc[j].kind == "O"
            and not isinstance(frame.dtypes.iloc[j], pd.CategoricalDtype)
            and rng.random() < 0.5
        ):
            frame.iloc[rng.random(n) < 0.1, j] = "never ' seen"
    return frame


def _move(rng: np.random.Generator, frame: pd.DataFrame, j: int, column: Any, threshold: float, at: np.ndarray) -> None:
    dtype = frame.dtypes.iloc[j]
    if column.kind in (Kind.NUMERIC, Kind.INTEGER) and dtype.kind == "f" and dtype.itemsize == 8:
        beside = [threshold, math.nextafter(threshold, -math.inf), math.nextafter(threshold, math.inf)]
        frame.iloc[at, j] = rng.choice([value for value in beside if math.isfinite(value)], at.size)
    elif column.kind is Kind.INTEGER and dtype.kind in "iu":
        frame.iloc[at, j] = pd.Series(math.floor(threshold) + rng.integers(0, 2, at.size)).astype(dtype).to_numpy()
    elif column.kind in (Kind.DATE, Kind.MOMENT) and dtype.kind == "M":
        step = timedelta(days=1) if column.kind is Kind.DATE else timedelta(microseconds=1)
        near = [EPOCH + (math.floor(threshold) + k) * step for k in (0, 1)]
        stamps = pd.to_datetime(pd.Series(near))
        if column.zone is not None:
            stamps = stamps.dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
        chosen = stamps.iloc[rng.integers(0, 2, at.size)].reset_index(drop=True)
        unit = f"datetime64[us{', ' + str(dtype.tz) if column.zone is not None else ''}]"
        if str(dtype) != unit:
            frame.isetitem(j, frame.iloc[:, j].astype(unit))
        frame.iloc[at, j] = chosen.astype(unit).to_numpy() if column.zone is None else chosen.astype(unit).array


# -------------------------------------------------------------------------------------------------------------- checks


def draw(number: int) -> tuple[Any, Rows, pd.DataFrame, Any, np.random.Generator]:
    """A fitted model, unseen rows, its training rows and their classes."""
    rng = np.random.default_rng(divmod(number, _records.CASES))
    made, numeric = learner(rng)
    train, fresh = table(rng, numeric=numeric)
    y = labels(rng, train)
    weights = (
        rng.integers(1, 5, len(train)) * 0.5
        if rng.random() < 0.3 and not isinstance(made, MinimalTreeClassifier)
        else None
    )
    if rng.random() < 0.1 and all(dtype.kind in "fiu" for dtype in train.dtypes):
        train, fresh = (pd.DataFrame(frame.to_numpy(dtype=float)) for frame in (train, fresh))
        made.fit(train.to_numpy(), y, **({} if weights is None else {"sample_weight": weights}))
        fresh.columns = [f"x{j}" for j in range(fresh.shape[1])]
        return made, _without_names(made, unseen(rng, made, fresh)), train, y, rng
    made.fit(train, y, **({} if weights is None else {"sample_weight": weights}))
    return made, Rows(made, unseen(rng, made, fresh)), train, y, rng


class _Nameless(Rows):
    """Rows of a model that learned from an array."""

    def __init__(self, model: Any, frame: pd.DataFrame) -> None:
        super().__init__(model, frame)
        array = frame.to_numpy(dtype=float)
        self.__dict__["numbers"], self.__dict__["predicted"] = array, model.predict(array).tolist()


def _without_names(model: Any, frame: pd.DataFrame) -> Rows:
    return _Nameless(model, frame)


def compare(form: str, rows: Rows, found: list[Any], expected: list[Any] | None = None) -> None:
    """Raise at the first row with another class."""
    expected = rows.predicted if expected is None else expected
    for at, (mine, other) in enumerate(zip(found, expected, strict=True)):
        if mine != other:
            wrong = sum(a != b for a, b in zip(found, expected, strict=True))
            told = f"{form}: {wrong} of {len(found)} rows differ; row {at} {rows.plain[at]}: {mine!r} and not {other!r}"
            raise DifferenceError(told)


def shown(labels_of: list[Any]) -> list[str]:
    """Labels as texts show them."""
    return [shorten(str(label), None) for label in labels_of]


def exported(counts: Counter[str], form: str, make: Callable[[], Any]) -> Any:
    """An export, or None if it is refused for a reason that is listed."""
    try:
        made = make()
    except ExportError as error:
        reason = next((reason for reason in REFUSED if reason in str(error)), None)
        if reason is None:
            raise
        counts[f"refused: {form}: {reason}"] += 1
        return None
    counts[form] += 1
    return made


def check(model: Any, rows: Rows, train: pd.DataFrame, folder: Path, counts: Counter[str]) -> None:
    """Compare every form with ``predict``."""
    names = shown(rows.predicted)
    compare("text", rows, printed.by_text(rows, model.export_text()), names)
    if model.schema_.by_name:
        compare("text of rows", rows, printed.by_text(rows, model.export_text(X=train)), names)
    drawn, numbers = html.unescape(model.export_graphviz()), (Kind.NUMERIC, Kind.INTEGER)
    for node in model.model_.splits():
        j, threshold = int(model.model_.feature[node]), float(model.model_.threshold[node])
        if j < 0 or not math.isfinite(threshold) or model.schema_.columns[j].kind not in numbers:
            continue
        if f"≤ {repr(threshold).removesuffix('.0')}" not in drawn:
            raise DifferenceError(f"the picture does not show {threshold!r}")
    rules = exported(counts, "rules", model.rules)
    one = [[label] for label in rows.predicted]
    compare("rules", rows, printed.by_rules(rows, rules), one)
    if model.model_.normals is None:
        compare("rules in words", rows, printed.by_rule_words(rows, rules), one)
    if model.model_.is_tree:
        leaves = model.apply(rows.frame if model.schema_.by_name else rows.numbers).tolist()
        compare(
            "report",
            rows,
            printed.by_words(rows, Words(model.model_, model._names()).rules(model.model_.n_nodes, levels=None)),
            [[leaf] for leaf in leaves],
        )
    for dialect in (None, "sqlite"):
        if dialect is None or importlib.util.find_spec("sqlglot") is not None:
            made = exported(counts, f"SQL {dialect or ''}", lambda: model.to_sql(dialect=dialect))  # noqa: B023 - called at once
            if made is not None:
                compare(f"SQLite {dialect}", rows, printed.by_sqlite(rows, lambda t: model.to_sql(t, dialect=dialect)))  # noqa: B023
                if dialect is None and importlib.util.find_spec("duckdb") is not None:
                    compare("DuckDB", rows, printed.by_duckdb(rows, model.to_sql))
    if importlib.util.find_spec("duckdb") is not None and importlib.util.find_spec("sqlglot") is not None:
        made = exported(counts, "SQL duckdb", lambda: model.to_sql(dialect="duckdb"))
        if made is not None:
            compare("DuckDB duckdb", rows, printed.by_duckdb(rows, lambda t: model.to_sql(t, dialect="duckdb")))
    compare("Python", rows, printed.by_python(rows, exported(counts, "Python", model.to_python)))
    if shutil.which("node") and (program := exported(counts, "JavaScript", model.to_javascript)):
        compare("JavaScript", rows, printed.by_javascript(rows, program, folder))
    if shutil.which("gcc") and (program := exported(counts, "C", model.to_c)):
        compare("C", rows, printed.by_c(rows, program, folder), [str(label) for label in rows.predicted])
    if (document := exported(counts, "PMML", model.to_pmml)) is not None:
        compare("PMML", rows, printed.by_pmml(rows, document), [_in_pmml(label) for label in rows.predicted])


def _in_pmml(label: Any) -> str:
    return ("true" if label else "false") if isinstance(label, bool) else str(label)


def one_case(number: int) -> Counter[str]:
    """Counts of a case; DifferenceError at the first form that decides otherwise."""
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, rows, train, _, rng = draw(number)
        counts["rows"] += len(rows.frame)
        counts["leaves"] += int(np.count_nonzero(model.model_.feature == LEAF))
        told = f"{model!r}, {train.dtypes.to_dict()}\n{model.export_text()}"
        with _records.about(told), tempfile.TemporaryDirectory() as folder:
            check(model, rows, train, Path(folder), counts)
            for sentence in SENTENCES:
                sentence(model, rows.frame, rng, counts)
    return counts
