"""The nearest row of another class: ours beside oceanpy, treecf and DiCE, on the same models and rows.

``python -m benchmarks.counterfactuals --python oceanpy=OCEAN/bin/python treecf=TREECF/bin/python`` learns models from
sets scaled to [0, 1] and takes rows in turn: ours, then the rival, which answers from a Python of its own (with the
same versions of numpy and of what learned the model; ``counterfactual_rivals.py`` runs there). Both are asked for the
row of the other class at the least sum of changes. Each model beside a rival is a row of
``results/explain/counterfactuals.csv``; ``counterfactuals.md`` is made from it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import cases
from benchmarks.counterfactual_rivals import RIVALS
from benchmarks.harness import RESULTS, Spread, Table, geometric_mean, markdown_table, number, seconds_text, write_page
from proofwood import Explainer

OUT = RESULTS / "explain"
SETS = ("breast-cancer", "rfxpl/spambase", "rfxpl/magic", "rfxpl/phoneme")
SAME = 1e-6
"""Difference of two distances that does not count: oceanpy counts in units of 1e-8, and a price of each column."""
KEY = ("data", "model", "rival", "rows", "limit")
COLUMNS = (
    "rival_version",
    "prepared",
    "proved",
    "mean",
    "median",
    "most",
    "rival_prepared",
    "rival_proved",
    "rival_mean",
    "rival_median",
    "rival_most",
    "ratio_low",
    "ratio",
    "ratio_high",
    "both",
    "both_ratio",
    "agreed",
    "ours_wrong",
    "rival_far",
    "rival_near",
    "rival_class",
    "gap",
    "rival_gap",
    "rival_farther",
)


def _forest(trees: int, depth: int | None) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, max_depth=depth, random_state=0)


def _xgboost(trees: int, depth: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=0)


def _lightgbm(trees: int, depth: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=trees, max_depth=depth, n_jobs=1, random_state=0, verbose=-1)


def _boosting(trees: int, depth: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=0)


SIZES = ((20, 3), (50, 4), (100, 4), (100, 6))
MODELS: Mapping[str, Callable[[], Any]] = {
    **{f"forest {n}x{d}": lambda n=n, d=d: _forest(n, d) for n, d in SIZES},
    "forest 100": lambda: _forest(100, None),
    **{f"XGBoost {n}x{d}": lambda n=n, d=d: _xgboost(n, d) for n, d in SIZES},
    "LightGBM 100x4": lambda: _lightgbm(100, 4),
    "GradientBoosting 100x4": lambda: _boosting(100, 4),
}
ABLE: Mapping[str, tuple[str, ...]] = {
    "oceanpy": ("forest", "XGBoost"),
    "treecf": ("forest", "XGBoost", "LightGBM", "GradientBoosting"),
    "DiCE": ("forest", "GradientBoosting"),
}
"""Families of models that a rival is asked about."""


def load(data: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rows with columns from 0 to 1, in numbers of 32 bits, and class codes."""
    if data == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
    else:
        X, y = cases.load(data)
    X = (X - X.min(axis=0)) / np.maximum(X.max(axis=0) - X.min(axis=0), 1e-300)
    return X.astype(np.float32).astype(np.float64), y


# ------------------------------------------------------------------ a rival in its own Python


class Rival:
    """A running rival, asked about one row after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.first = self._line()

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the rival ended with exit code {self.process.wait()}: see its messages above")
        return dict(json.loads(line))

    def ask(self, at: int) -> dict[str, Any]:
        """Its answer for a row of the data."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{at}\n")
        self.process.stdin.flush()
        return self._line()


@contextmanager
def started(rival: str, python: str, model: Any, X: npt.NDArray[np.float64], limit: float) -> Iterator[Rival]:
    """A rival that has read the model; its predictions are those of the model here."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "RAYON")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.pickle").write_bytes(pickle.dumps(model))
        np.save(folder / "X.npy", X)
        script = Path(__file__).with_name("counterfactual_rivals.py")
        command = [python, str(script), rival, name, str(limit)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **one}
        ) as process:
            running = Rival(process)
            predicted = np.asarray(model.predict(X)).astype(np.int64)
            if running.first["predictions"] != hashlib.sha256(predicted.tobytes()).hexdigest():
                raise RuntimeError(f"the model predicts other classes in the Python of {rival}: take the same versions")
            yield running
            assert process.stdin is not None
            process.stdin.close()


# ------------------------------------------------------------------ one model beside one rival


@dataclass
class Tally:
    """What was seen of the rows of a model."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    rival_gaps: list[float] = field(default_factory=list)
    farther: list[float] = field(default_factory=list)
    count: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("proved", "rival_proved", "both", "agreed", "ours_wrong", "rival_far", "rival_near", "rival_class"), 0
        )
    )

    def add(self, found: Any, seconds: float, answer: Mapping[str, Any], shown: float | None) -> None:
        """Both answers for a row; ``shown``: distance of the rival's row if the model gives it the other class."""
        self.ours.append(seconds)
        self.theirs.append(answer["seconds"])
        proved, claimed = found.status in ("optimal", "none"), bool(answer["proved"])
        count = self.count
        count["proved"] += proved
        count["rival_proved"] += claimed
        count["rival_class"] += answer["row"] is not None and shown is None
        if not proved:
            self.gaps.append(_gap(found.distance, found.lower_bound))
        if not claimed and answer["row"] is not None and answer["lower"] is not None:
            self.rival_gaps.append(_gap(answer["distance"], answer["lower"]))
        if shown is not None and found.distance > 0:
            self.farther.append(shown / found.distance)
        # rows that the model itself gives the other class decide who is wrong
        count["ours_wrong"] += shown is not None and shown < found.lower_bound - SAME
        if claimed and answer["distance"] is not None:
            count["rival_far"] += found.distance < answer["distance"] - SAME
            count["rival_near"] += answer["distance"] < found.lower_bound - SAME
        elif claimed:
            count["rival_far"] += found.status != "none"
        if proved and claimed:
            count["both"] += 1
            self.both.append(answer["seconds"] / seconds)
            same = answer["distance"] is not None and abs(answer["distance"] - found.distance) <= SAME
            count["agreed"] += same or (answer["row"] is None and found.status == "none")

    def cells(self) -> dict[str, Any]:
        """The columns of the table."""
        ratios = Spread.of(their / our for their, our in zip(self.theirs, self.ours, strict=True))
        return {
            "mean": float(np.mean(self.ours)),
            "median": float(np.median(self.ours)),
            "most": max(self.ours),
            "rival_mean": float(np.mean(self.theirs)),
            "rival_median": float(np.median(self.theirs)),
            "rival_most": max(self.theirs),
            "ratio_low": ratios.low,
            "ratio": ratios.median,
            "ratio_high": ratios.high,
            "both_ratio": geometric_mean(self.both),
            "gap": _median(self.gaps),
            "rival_gap": _median(self.rival_gaps),
            "rival_farther": _median(self.farther),
            **self.count,
        }


def _gap(distance: float, lower: float) -> float:
    """Share of a distance that is not proved: 1 where nothing is."""
    return 1.0 if not distance > 0 else max(0.0, 1 - max(lower, 0.0) / distance)


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def measure(data: str, model: str, rival: str, python: str, rows: int, limit: float) -> dict[str, Any]:
    """Distances and seconds of both for some rows, one after the other."""
    X, y = load(data)
    fitted = MODELS[model]().fit(X, y)
    begin = time.process_time()
    explainer = Explainer(fitted)
    prepared = time.process_time() - begin
    tally = Tally()
    with started(rival, python, fitted, X, limit) as running:
        for at in np.random.default_rng(0).permutation(len(X))[:rows].tolist():
            row, label = X[at], int(fitted.predict(X[[at]])[0])
            begin = time.process_time()
            found = explainer.counterfactual(row, metric="l1", weights=1.0, time_limit=limit)
            seconds = time.process_time() - begin
            if found.witness is not None:
                assert fitted.predict(np.asarray(found.witness, dtype=np.float64)[np.newaxis])[0] != label
            answer = running.ask(at)
            there = None if answer["row"] is None else np.array(answer["row"])
            other = there is not None and int(fitted.predict(there[np.newaxis])[0]) != label
            tally.add(found, seconds, answer, float(np.abs(there - row).sum()) if there is not None and other else None)
    first = running.first
    return {
        "rival_version": first["version"],
        "prepared": prepared,
        "rival_prepared": first["prepared"],
    } | tally.cells()


# ------------------------------------------------------------------ the page


def page(table: Table, out: Path) -> Path:
    """The page of what is stored."""
    blocks = [
        "CPU seconds on one thread, one row after the other: ours, then the rival in its own Python with the same "
        "fitted model. Columns are scaled to [0, 1]; distance is the sum of changes, the same for all; the aim is the "
        "other class. Each search has the same limit of wall seconds, which other work on the machine makes fewer CPU "
        "seconds. The ratio is the median of the pairs, the rival over ours, with quartiles; a row that a limit "
        "stopped counts as what it took. *Gap*: share of the distance that is not proved, median of the rows without "
        "a proof (by the rival's own bound; none where it found no row). *Farther*: median of the distance of the "
        "rival's rows over that of ours. Where the proofs differ, the model's own predictions decide: *too far* is a "
        "rival's proof beyond a row that has the other class, *too near* a rival's distance below the proved one, "
        "*class* a rival's row that does not have the other class. DiCE proves nothing and has no limit. The "
        "default forest on magic (169,000 leaves) is left out: oceanpy was still building its model after six CPU "
        "minutes, and treecf had no five answers after eight minutes of the clock.",
    ]
    for rival in RIVALS:
        chosen = table.select(rival=rival)
        if not chosen:
            continue
        blocks.append(f"## Beside {rival} {chosen[-1]['rival_version']}")
        blocks += [_proofs(chosen) if rival != "DiCE" else _distances(chosen), _summary(chosen, rival)]
    return write_page(
        out / "counterfactuals.md",
        "Nearest rows beside rivals",
        *blocks,
        rows=table.rows,
        command="python -m benchmarks.counterfactuals --python oceanpy=PYTHON treecf=PYTHON dice=PYTHON",
    )


def _name(row: Mapping[str, str]) -> str:
    return f"{row['data'].rpartition('/')[2]}, {row['model']}"


def _pairs(row: Mapping[str, str]) -> str:
    low, middle, high = (_ratio(number(row[name])) for name in ("ratio_low", "ratio", "ratio_high"))
    return f"{middle} ({low}–{high})"


def _ratio(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.0f}" if value >= 20 else f"{value:.1f}"


def _percent(text: str) -> str:
    return f"{100 * number(text):.0f} %" if text else "–"


def _proofs(rows: Sequence[Mapping[str, str]]) -> str:
    header = (
        "model",
        "rows",
        "limit, s",
        "proved",
        "mean s",
        "median",
        "most",
        "gap",
        "rival proved",
        "mean s",
        "median",
        "most",
        "gap",
        "ratio (quartiles)",
        "both proved",
        "same distance",
        "ours wrong",
        "too far",
        "too near",
        "class",
    )
    lines = []
    for row in rows:
        seconds = [seconds_text(number(row[name])) for name in ("mean", "median", "most")]
        theirs = [seconds_text(number(row[f"rival_{name}"])) for name in ("mean", "median", "most")]
        lines.append(
            [
                _name(row),
                row["rows"],
                row["limit"],
                row["proved"],
                *seconds,
                _percent(row["gap"]),
                row["rival_proved"],
                *theirs,
                _percent(row["rival_gap"]),
                _pairs(row),
                *(row[n] for n in ("both", "agreed", "ours_wrong", "rival_far", "rival_near", "rival_class")),
            ]
        )
    return markdown_table(header, lines)


def _distances(rows: Sequence[Mapping[str, str]]) -> str:
    header = ("model", "rows", "proved", "mean s", "DiCE, mean s", "ratio (quartiles)", "farther", "class")
    return markdown_table(
        header,
        [
            [
                _name(row),
                row["rows"],
                row["proved"],
                seconds_text(number(row["mean"])),
                seconds_text(number(row["rival_mean"])),
                _pairs(row),
                _ratio(number(row["rival_farther"])),
                row["rival_class"],
            ]
            for row in rows
        ],
    )


def _summary(rows: Sequence[Mapping[str, str]], rival: str) -> str:
    asked = sum(int(row["rows"]) for row in rows)
    proved = sum(int(row["proved"]) for row in rows)
    if rival == "DiCE":
        return f"Of {asked} rows ours proved {proved} nearest."
    theirs, both, agreed = (sum(int(row[n]) for row in rows) for n in ("rival_proved", "both", "agreed"))
    logs = [int(row["both"]) * np.log(number(row["both_ratio"])) for row in rows if int(row["both"])]
    text = (
        f"Of {asked} rows ours proved {proved} nearest, {rival} {theirs}; both {both}, with the same distance {agreed}."
    )
    if both:
        times = f"{np.exp(sum(logs) / both):.0f}"
        text += f" Where both proved, {rival} took {times} times as long (geometric mean of the rows)."
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counterfactuals", description=__doc__)
    parser.add_argument("--python", nargs="+", default=[], metavar="RIVAL=PYTHON", help="an interpreter for each rival")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--rows", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=12.0, help="limit for a row")
    parser.add_argument("--out", type=Path, default=OUT)
    parsed = parser.parse_args(arguments)
    table = Table(parsed.out / "counterfactuals.csv", KEY, COLUMNS)
    for data in parsed.sets:
        for model in parsed.models:
            for rival, _, python in (given.partition("=") for given in parsed.python):
                if model.split()[0] not in ABLE[rival]:
                    continue
                key = {"data": data, "model": model, "rival": rival, "rows": parsed.rows, "limit": parsed.seconds}
                print(table.cell(lambda python=python, key=key: measure(**key, python=python), **key), flush=True)
    print(page(table, parsed.out))


if __name__ == "__main__":
    main()
