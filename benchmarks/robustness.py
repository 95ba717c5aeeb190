"""How far every value may move before the class can change: our radius beside that of Veritas.

``python -m benchmarks.robustness`` learns models from sets scaled to [0, 1], takes rows in turn, and asks both for the
radius in the greatest change of a value. Ours is exact; Veritas halves an interval of radii so many times, each with a
search for the greatest output, under a limit. Each model is a row of ``results/explain/robustness.csv``;
``robustness.md`` is made from it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.harness import RESULTS, Spread, Table, geometric_mean, markdown_table, number, seconds_text, write_page
from proofwood import Explainer

OUT = RESULTS / "explain"
SETS = ("rfxpl/magic", "rfxpl/spambase", "rfxpl/phoneme")
START = 0.5
"""Radius that Veritas begins with, in scaled columns."""
STEPS = 10
"""Times that Veritas halves the interval: to a thousandth of the first radius."""
NEAR = 2e-4
"""What an example of Veritas may lie beyond the radius, by its guard."""
KEY = ("data", "model", "rows", "limit")
COLUMNS = (
    "prepared",
    "exact",
    "mean",
    "median",
    "most",
    "veritas_mean",
    "veritas_median",
    "veritas_most",
    "ratio_low",
    "ratio",
    "ratio_high",
    "agreed",
    "unshown",
    "veritas_wrong",
    "ours_wrong",
)


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=300, max_depth=8, n_jobs=1, random_state=0)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=300, n_jobs=1, random_state=0, verbose=-1)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, max_depth=8, random_state=0)


MODELS: Mapping[str, Callable[[], Any]] = {
    "XGBoost 300x8": _xgboost,
    "LightGBM 300": _lightgbm,
    "forest 100x8": _forest,
}


def measure(data: str, model: str, rows: int, limit: float) -> dict[str, Any]:
    """Radii and seconds of both for some rows, one after the other."""
    import veritas

    X, y = cases.load(data)
    X = (X - X.min(axis=0)) / np.maximum(X.max(axis=0) - X.min(axis=0), 1e-300)
    X = X.astype(np.float32).astype(np.float64)  # what the models and Veritas compute with
    fitted = MODELS[model]().fit(X, y)
    begin = time.process_time()
    explainer = Explainer(fitted)
    prepared = time.process_time() - begin
    trees = veritas.get_addtree(fitted, silent=True)
    ours: list[float] = []
    theirs: list[float] = []
    count = {"exact": 0, "agreed": 0, "unshown": 0, "veritas_wrong": 0, "ours_wrong": 0}
    for at in np.random.default_rng(0).permutation(len(X))[:rows].tolist():
        label = int(fitted.predict(X[[at]])[0])
        begin = time.process_time()
        found = explainer.robustness(X[at], time_limit=limit)
        ours.append(time.process_time() - begin)
        begin = time.process_time()
        sides = {"source_at": trees, "target_at": None} if label else {"source_at": None, "target_at": trees}
        search = veritas.VeritasRobustnessSearch(X[at], START, **sides, num_steps=STEPS, max_time=limit, silent=True)
        _, low, high = search.search()
        theirs.append(time.process_time() - begin)
        count["exact"] += found.status in ("exact", "constant")
        # rows that the model itself gives another class decide who is wrong
        examples = [(float(np.abs(row - X[at]).max()), fitted.predict([row])[0]) for row in search.generated_examples]
        shown = min((far for far, given in examples if given != label), default=np.inf)
        if found.status == "exact":
            assert found.nearest.witness is not None
            assert fitted.predict(found.nearest.witness[np.newaxis])[0] != label
        count["ours_wrong"] += shown < found.radius - 1e-6
        count["veritas_wrong"] += found.upper < low - 1e-6 and low < START
        # a step that its share of the limit ends without an example takes the upper end down all the same
        unshown = high < min([START, *(far for far, _ in examples)]) - NEAR
        count["unshown"] += unshown
        above = low - 1e-6 <= min(found.upper, START)
        count["agreed"] += above and (unshown or min(found.radius, START) <= high + NEAR)
    ratios = Spread.of(their / our for their, our in zip(theirs, ours, strict=True))
    return {
        "prepared": prepared,
        "mean": float(np.mean(ours)),
        "median": float(np.median(ours)),
        "most": max(ours),
        "veritas_mean": float(np.mean(theirs)),
        "veritas_median": float(np.median(theirs)),
        "veritas_most": max(theirs),
        "ratio_low": ratios.low,
        "ratio": ratios.median,
        "ratio_high": ratios.high,
        **count,
    }


def page(table: Table, out: Path) -> Path:
    """The page of what is stored."""
    lines = []
    for row in table.rows:
        seconds = [seconds_text(number(row[name])) for name in KEY_SECONDS]
        pairs = f"{number(row['ratio']):.1f} ({number(row['ratio_low']):.1f}–{number(row['ratio_high']):.1f})"
        lines.append(
            [
                f"{row['data'].rpartition('/')[2]}, {row['model']}",
                row["rows"],
                row["exact"],
                *seconds,
                pairs,
                row["agreed"],
                row["unshown"],
                row["ours_wrong"],
                row["veritas_wrong"],
            ]
        )
    header = (
        "model",
        "rows",
        "exact",
        "ours, mean s",
        "median",
        "most",
        "Veritas, mean s",
        "median",
        "most",
        "ratio (quartiles)",
        "agree",
        "upper end not shown",
        "ours wrong",
        "Veritas wrong",
    )
    whole = geometric_mean([number(row["veritas_mean"]) / number(row["mean"]) for row in table.rows])
    return write_page(
        out / "robustness.md",
        "Robustness beside Veritas",
        "CPU seconds on one thread, one row after the other, both in one process; columns scaled to [0, 1]. Ours is "
        "the exact radius (`Explainer.robustness`, greatest change of a value); Veritas halves an interval from "
        f"{START:g} on {STEPS} times. The ratio is the median of the pairs, Veritas over ours. They agree where the "
        f"intervals of both overlap (within {NEAR:g}, its guard). Where a step of Veritas ends by its share of the "
        "limit without an example, it lowers the upper end all the same: that end is not shown, and only the lower "
        "one is compared. Someone is wrong where the model itself gives a row within the radius another class. The "
        "column `prepared` of the CSV is the making of the explainer, once for a model.",
        markdown_table(header, lines),
        f"Mean seconds of Veritas over ours: {whole:.1f} in the geometric mean over the models.",
        rows=table.rows,
        command="python -m benchmarks.robustness",
    )


KEY_SECONDS = ("mean", "median", "most", "veritas_mean", "veritas_median", "veritas_most")


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit for a row")
    parser.add_argument("--out", type=Path, default=OUT)
    parsed = parser.parse_args(arguments)
    table = Table(parsed.out / "robustness.csv", KEY, COLUMNS)
    for data in parsed.sets:
        for model in parsed.models:
            key = {"data": data, "model": model, "rows": parsed.rows, "limit": parsed.seconds}
            print(table.cell(lambda data=data, model=model: measure(data, model, parsed.rows, parsed.seconds), **key))
    print(page(table, parsed.out))


if __name__ == "__main__":
    main()
