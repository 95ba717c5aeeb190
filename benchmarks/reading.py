"""How long a fitted model is read before its first answer, and how much of that the model itself takes to predict.

``python -m benchmarks.reading``

Four families of ordinary size on generated rows. ``reading`` is the CPU time of ``Explainer(model)``: conversion, grid,
integers, check and the native form of the ensemble; ``predict`` is what the model itself needs for the rows of the
check, which are asked for classes and for probabilities. Each is the least of five runs. The rest is ours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, Table, markdown_table, number, seconds_text, write_page
from proofwood import Explainer
from proofwood.ensembles.explained import CHECKED_ROWS
from proofwood.model.node_table import FloatArray, IntArray

OUT = RESULTS / "explain"
KEY = ("family",)
COLUMNS = ("trees", "leaves", "reading", "predict", "ours", "goal")
RUNS = 5
ROWS = 10_000


def _rows() -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 20))
    X[:, 5:10] = np.round(X[:, 5:10], 1)
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0) + X[:, 6]
    return X, (score + 0.7 * rng.normal(size=ROWS) > 0).astype(np.int64)


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=1000, max_depth=6, learning_rate=0.05, n_jobs=1)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=500, num_leaves=63, n_jobs=1, verbose=-1)


def _catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=1000, depth=6, verbose=0, thread_count=1, allow_writing_files=False)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(500, n_jobs=1, random_state=0)


FAMILIES: dict[str, tuple[Callable[[], Any], float]] = {
    "XGBoost, 1,000 trees of depth 6": (_xgboost, 0.3),
    "LightGBM, 500 trees of 63 leaves": (_lightgbm, 0.3),
    "CatBoost, 1,000 trees of depth 6": (_catboost, 0.5),
    "forest of 500 trees without a limit": (_forest, 1.0),
}
"""How each model is made, and the seconds within which it should be read."""


def _least(call: Callable[[], Any]) -> float:
    found = []
    for _ in range(RUNS):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def measured(family: str) -> dict[str, Any]:
    """One family: seconds of CPU."""
    make, goal = FAMILIES[family]
    X, y = _rows()
    model = make().fit(X, y)
    scores = Explainer(model).model.scores
    asked = X[:CHECKED_ROWS]
    reading = _least(lambda: Explainer(model))
    predict = _least(lambda: (model.predict(asked), model.predict_proba(asked)))
    return {
        "trees": scores.n_trees,
        "leaves": len(scores.scores),
        "reading": reading,
        "predict": predict,
        "ours": reading - predict,
        "goal": goal,
    }


def main() -> None:
    """Measure the families that are asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--fresh", action="store_true", help="measure again")
    asked = parser.parse_args()
    path = OUT / "reading.csv"
    if asked.fresh:
        path.unlink(missing_ok=True)
    table = Table(path, KEY, COLUMNS)
    for family in asked.families:
        row = table.cell(partial(measured, family), family=family)
        print(f"{family:36} read in {row['reading']} s, of which the model's predict {row['predict']} s", flush=True)
    print(render(table, OUT))


def render(table: Table, out: Path) -> Path:
    """The page of what is stored."""
    shown = [
        [
            row["family"],
            row["leaves"],
            *(seconds_text(number(row[name])) for name in ("reading", "predict", "ours", "goal")),
        ]
        for row in table.rows
    ]
    header = ["model", "leaves", "`Explainer(model)`", "its own predict", "without that", "at most, as aimed at"]
    return write_page(
        out / "reading.md",
        "Reading a model before the first answer",
        f"CPU seconds, the least of {RUNS} runs; learned from {ROWS:,} rows of 20 columns. The model's own predict is "
        f"that of {CHECKED_ROWS:,} rows for classes and for probabilities, with which the reading is compared. "
        "The last column is what reading should take at most, without that predict, by our own aim.",
        markdown_table(header, shown),
        rows=table.rows,
        command="python -m benchmarks.reading",
    )


if __name__ == "__main__":
    main()
