"""Data sets of the benchmarks by name: files of a shared folder, and generated ones that need no file.

Files are looked for in the folder that the environment variable ``PROOFWOOD_DATA`` names, else in ``../shared/data``
beside the repository. A file is ``<suite>/<name>.csv`` or ``.csv.gz``: one header row, numeric columns, the last column
``target`` with class codes from 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.datasets import make_classification

Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]

ROOT = Path(__file__).resolve().parents[2]

QUANTBNB = (
    "avila", "bank", "bean", "bidding", "eeg", "fault", "htru", "magic",
    "occupancy", "page", "raisin", "rice", "room", "segment", "skin", "wilt",
)  # fmt: skip
"""The sixteen sets of Quant-BnB and ConTree: numeric features, training parts only."""


CP4IM = (
    "anneal", "audiology", "australian-credit", "breast-wisconsin", "car", "heart-cleveland", "hypothyroid", "kr-vs-kp",
    "lymph", "mushroom", "primary-tumor", "soybean", "splice-1", "tic-tac-toe", "vote",
)  # fmt: skip
"""The fifteen sets of MaxSAT-BDD: 0/1 features, two classes; as cases they are named ``cp4im/anneal`` and so on."""

BITS = (*CP4IM[:3], "breast-wisconsin-120", *CP4IM[3:])
"""All sets of 0/1 columns: ``breast-wisconsin-120`` is ``breast-wisconsin`` by other tests."""

FOLDED = ("iris", "monks-1", "monks-2", "monks-3", "wine", "balance-scale")
"""The sets of InferDT that come with five train-test splits; as cases, ``inferdt/folds/iris.train0`` and so on."""

INFERDT = (
    "mouse",
    "car",
    *(f"folds/{name}.{part}{k}" for name in FOLDED for part in ("train", "test") for k in range(5)),
)

UCI = (
    "soybean-small", "echocardiogram", "hepatitis", "fertility-diagnosis", "acute-inflammations-nephritis",
    "acute-inflammations-urinary", "iris", "teaching-assistant-evaluation", "hayes-roth", "wine",
    "planning-relax", "breast-cancer-prognostic", "parkinsons", "connectionist-mines-vs-rocks", "seeds",
    "thyroid-new", "spect-heart", "spectf-heart", "cylinder-bands", "heart-disease-cleveland",
    "habermans-survival", "ionosphere", "dermatology", "congressional-voting", "thoracic-surgery",
    "climate-simulation-crashes", "monks3", "monks1", "breast-cancer-diagnostic", "indian-liver-patient",
    "monks2", "balance-scale", "credit-approval", "breast-cancer-wisconsin", "blood-transfusion-service",
    "pima-indians-diabetes", "mammographic-mass", "tic-tac-toe", "connectionist-vowel", "statlog-german-credit",
    "qsar-biodegradation", "banknote-authentication", "contraceptive-method-choice", "car-evaluation", "ozone-eighthr",
    "ozone-onehr", "image-segmentation", "seismic-bumps", "chess-kr-vs-kp", "thyroid-ann",
    "spambase", "wall-following-robot-2", "optical-recognition", "statlog-landsat-satellite",
)  # fmt: skip
"""The 54 sets of Optimal Decision Diagrams, fewest rows first; as cases they are named ``uci/iris`` and so on."""

RFXPL = (
    "ann-thyroid", "appendicitis", "biodegradation", "ecoli", "glass2", "heart-c", "ionosphere", "iris", "karhunen",
    "letter", "magic", "mofn-3-7-10", "new-thyroid", "pendigits", "phoneme", "ring", "segmentation", "shuttle", "sonar",
    "spambase", "spectf", "texture", "threeOf9", "twonorm", "vowel", "waveform-21", "waveform-40", "wdbc", "wine-recog",
    "wpbc", "xd6",
)  # fmt: skip
"""Sets of RFxpl; as cases they are named ``rfxpl/iris`` and so on. Its ``banknote`` is that of ``uci``."""


@dataclass(frozen=True, slots=True)
class Case:
    """A data set: its name, where it comes from, how to get it, and its file in the data folder without its ending."""

    name: str
    suite: str
    read: Callable[[], Arrays]
    file: str = ""


def data_folder() -> Path:
    """Folder of the data files.

    Raises
    ------
    FileNotFoundError
        If neither ``PROOFWOOD_DATA`` nor the folder beside the repository exists.
    """
    named = os.environ.get("PROOFWOOD_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"no data folder {str(folder)!r}: set PROOFWOOD_DATA to the folder that holds quantbnb/bank.csv, "
            f"or choose generated sets ({', '.join(generated_names())})"
        )
    return folder


def names(suite: str | None = None) -> list[str]:
    """Names of all cases, or of those of one suite, in order."""
    return [case.name for case in _CASES.values() if suite in (None, case.suite)]


def generated_names() -> list[str]:
    """Names of the cases that need no file."""
    return names("generated")


@lru_cache(maxsize=2)
def load(name: str) -> Arrays:
    """``X`` (n_rows, n_features) float64 and class codes (n_rows,) int64 of a case.

    Raises
    ------
    KeyError
        If no case has this name; the message lists all.
    FileNotFoundError
        If its file is absent.
    """
    if name not in _CASES:
        raise KeyError(f"no data set {name!r}: expected one of {', '.join(_CASES)}")
    X, y = _CASES[name].read()
    X.flags.writeable = y.flags.writeable = False
    return X, y


def is_here(name: str) -> bool:
    """Whether a case can be loaded: it is generated, or its file is in the data folder."""
    if not _CASES[name].file:
        return True
    try:
        return any(path.is_file() for path in _files(_CASES[name].file))
    except FileNotFoundError:
        return False


def _files(file: str) -> list[Path]:
    return [data_folder() / f"{file}{ending}" for ending in (".csv", ".csv.gz")]


def _from_file(suite: str, name: str, *, full_name: bool = False) -> Case:
    file = f"{suite}/{name}"

    def read() -> Arrays:
        for path in _files(file):
            if path.is_file():
                frame = pl.read_csv(path, infer_schema_length=None)
                X = np.ascontiguousarray(frame.drop("target").cast(pl.Float64).to_numpy())
                return X, frame["target"].cast(pl.Int64).to_numpy().copy()
        raise FileNotFoundError(f"no file {name}.csv or {name}.csv.gz in {str(data_folder() / suite)!r}")

    return Case(file if full_name else name, suite, read, file)


def _generated(name: str, make: Callable[[np.random.Generator], Arrays]) -> Case:
    def read() -> Arrays:
        X, y = make(np.random.default_rng(20250220))
        return np.ascontiguousarray(X, dtype=np.float64), y.astype(np.int64)

    return Case(f"generated-{name}", "generated", read)


def _tiny(rng: np.random.Generator) -> Arrays:
    X = rng.normal(size=(80, 3)).round(1)
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64) ^ (rng.random(80) < 0.1)


def _bits(rng: np.random.Generator) -> Arrays:
    X = rng.integers(0, 2, size=(120, 8))
    return X, (X[:, 0] & X[:, 1] | X[:, 2] & X[:, 3]) ^ (rng.random(120) < 0.05)


def _blobs(n: int, p: int, classes: int) -> Callable[[np.random.Generator], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        X, y = make_classification(
            n_samples=n,
            n_features=p,
            n_informative=min(p, 6),
            n_redundant=0,
            n_classes=classes,
            n_clusters_per_class=2,
            flip_y=0.05,
            random_state=int(rng.integers(2**31)),
        )
        return X, y

    return make


_CASES: dict[str, Case] = {
    case.name: case
    for case in (
        *(_from_file("quantbnb", name) for name in QUANTBNB),
        *(_from_file("cp4im", name, full_name=True) for name in BITS),
        *(_from_file("inferdt", name, full_name=True) for name in INFERDT),
        *(_from_file("uci", name, full_name=True) for name in UCI),
        *(_from_file("rfxpl", name, full_name=True) for name in RFXPL),
        _generated("tiny", _tiny),
        _generated("bits", _bits),
        _generated("two-class", _blobs(2000, 8, 2)),
        _generated("five-class", _blobs(2000, 8, 5)),
        _generated("long", _blobs(200_000, 4, 2)),
        _generated("wide", _blobs(500, 500, 2)),
    )
}
