"""What equal approval rates cost: accuracy and attained ratio as the ratio asked for rises, on the data set ``credit``.

``python -m benchmarks.fairness_tradeoff``

Each run is stored in ``results/fairness_tradeoff.csv``; the picture and the table of ``docs/how-to/fairness.md`` are
made from it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, ROOT, Table, number

PICTURE = ROOT / "docs" / "how-to" / "images" / "fairness-tradeoff.png"
RATIOS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
WIDTHS, ALPHA, THRESHOLDS = (1, 2), 0.01, 8
TRAIN, TEST = "#1b6ca8", "#c1562d"


def measure(*, ratios: Sequence[float], seeds: Sequence[int], seconds: float, fresh: bool) -> Table:
    """Stored runs; those that are missing are made first."""
    path = RESULTS / "fairness_tradeoff.csv"
    if fresh:
        path.unlink(missing_ok=True)
    told = ("status", "objective", "lower_bound", "train", "test", "train_ratio", "test_ratio", "seconds")
    table = Table(path, ("widths", "alpha", "max_thresholds", "limit", "seed", "ratio"), told)
    for seed in seeds:
        for ratio in ratios:

            def work(seed: int = seed, ratio: float = ratio) -> dict[str, Any]:
                return fit(seed=seed, ratio=ratio, seconds=seconds)

            key = {"widths": "-".join(map(str, WIDTHS)), "alpha": ALPHA, "max_thresholds": THRESHOLDS}
            row = table.cell(work, **key, limit=seconds, seed=seed, ratio=ratio)
            print(f"seed {seed}, ratio {ratio:.2f}: {row['status']}, {row['seconds']} s", flush=True)
    return table


@cache
def _rows(seed: int) -> tuple[Any, ...]:
    from sklearn.model_selection import train_test_split

    from proofwood import load_dataset

    data = load_dataset("credit")
    group = list(data.feature_names).index("group")
    X = np.delete(data.X, group, axis=1)
    return tuple(train_test_split(X, data.y, data.X[:, group], test_size=0.3, random_state=seed, stratify=data.y))


def fit(*, seed: int, ratio: float, seconds: float) -> dict[str, Any]:
    """One diagram: accuracy and ratio on its training rows and on the others."""
    from proofwood import DemographicParity, OptimalDiagramClassifier

    X, X_test, y, y_test, group, group_test = _rows(seed)
    parity = DemographicParity(ratio=ratio, pos_label="approved")
    diagram = OptimalDiagramClassifier(
        WIDTHS,
        alpha=ALPHA,
        max_thresholds=THRESHOLDS,
        threshold_rule="midpoint",
        constraints=parity,
        time_limit=seconds,
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status is stored
        diagram.fit(X, y, sensitive_features=group)
    return {
        "seconds": time.perf_counter() - started,
        "status": str(diagram.status_),
        "objective": diagram.objective_,
        "lower_bound": diagram.lower_bound_,
        "train": diagram.score(X, y),
        "test": diagram.score(X_test, y_test),
        "train_ratio": parity.measure(y, diagram.predict(X), group),
        "test_ratio": parity.measure(y_test, diagram.predict(X_test), group_test),
    }


def draw(rows: Sequence[Mapping[str, str]], path: Path) -> Path:
    """Two panels over the ratio asked for: mean accuracy and mean attained ratio, with the range over the splits."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    ratios = sorted({number(row["ratio"]) for row in rows})
    for axis, columns in ((left, ("train", "test")), (right, ("train_ratio", "test_ratio"))):
        for column, colour, label in zip(columns, (TRAIN, TEST), ("training rows", "test rows"), strict=True):
            values = [[number(row[column]) for row in rows if number(row["ratio"]) == ratio] for ratio in ratios]
            axis.fill_between(
                ratios, list(map(min, values)), list(map(max, values)), color=colour, alpha=0.15, linewidth=0
            )
            means = [float(np.mean(one)) for one in values]
            axis.plot(ratios, means, color=colour, label=label)
            proved = [
                all(row["status"] == "optimal" for row in rows if number(row["ratio"]) == ratio) for ratio in ratios
            ]
            for x, y, full in zip(ratios, means, proved, strict=True):
                axis.plot(x, y, "o", color=colour, markerfacecolor=colour if full else "white", markersize=5)
        axis.set_xlabel("ratio asked for")
        axis.grid(color="0.9")
        axis.set_axisbelow(True)
    left.set_ylabel("accuracy")
    left.legend(fontsize=8, loc="lower left")
    right.set_ylabel("ratio attained")
    right.plot([ratios[0], 1], [ratios[0], 1], "--", color="0.5", linewidth=1)
    right.text(0.545, 0.525, "asked for", color="0.4", fontsize=8)
    seeds = len({row["seed"] for row in rows})
    figure.suptitle(
        f"credit, {seeds} splits of the rows: lines are means, bands go from least to greatest; hollow: not all proved",
        fontsize=9,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of this figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness_tradeoff", description=__doc__)
    parser.add_argument("--ratios", nargs="+", type=float, default=list(RATIOS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of one fit")
    parser.add_argument("--out", type=Path, default=PICTURE, help="the picture")
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    asked = parser.parse_args(arguments)
    table = measure(ratios=asked.ratios, seeds=asked.seeds, seconds=asked.seconds, fresh=asked.fresh)
    print(draw(table.rows, asked.out))


if __name__ == "__main__":
    main()
