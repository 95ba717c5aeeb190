"""Hypothesis profiles, and the benchmark data that some tests read."""

from __future__ import annotations

import gc
import gzip
import hashlib
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from proofwood.model.node_table import FloatArray, IntArray

# Tests scale their number of examples by that of the profile: see strategies.examples.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("ci", max_examples=50, derandomize=True, database=None, **_COMMON)
settings.register_profile("few", max_examples=8, derandomize=True, database=None, **_COMMON)
settings.register_profile("thorough", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

os.environ.setdefault("MPLBACKEND", "Agg")
DATA = Path(os.environ.get("PROOFWOOD_DATA", Path(__file__).parents[2] / "shared" / "data"))
"""Folder of the benchmark data: one folder per suite, a CSV file per data set, its last column being the target."""


@pytest.fixture(autouse=True)
def ctrl_c_raises() -> None:
    """Python's handler of SIGINT, anew for each test.

    A background job starts with the signal ignored, and python-sat, where a test runs one of its solvers directly,
    leaves behind a state in which it ends the process.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def drawn_alike() -> None:
    """Models without a ``random_state`` draw from numpy's global state: in each test the same."""
    np.random.seed(0)  # noqa: NPY002 - this is the state that scikit-learn takes by default


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """Pictures are drawn without a screen, and none stays open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small models are learned faster by one thread than by many."""
    with threadpool_limits(1):
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long runs have no limit of time."""
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.timeout(0))


def pytest_collection_finish() -> None:
    """Tests and modules stay to the end: the garbage collector, which some tests and fits call, leaves them alone."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose optional packages are absent; where all are said to be installed, it fails.

    Packages are looked for and not imported: two of the solvers cannot live in one process.
    """
    for mark in item.iter_markers("needs"):
        for package in mark.args:
            if importlib.util.find_spec(package) is None:
                stop = pytest.fail if "PROOFWOOD_ALL_EXTRAS" in os.environ else pytest.skip
                stop(f"{package} is not installed")
    for package in (package for mark in item.iter_markers("beside") for package in mark.args):
        if importlib.util.find_spec(package) is None:  # no extra has it
            pytest.skip(f"{package} is not installed")


LoadData = Callable[..., tuple[FloatArray, IntArray]]


@pytest.fixture(scope="session")
def load_data() -> LoadData:
    """Function ``(name, sha256=None) -> (X, codes)``, ``name`` as in ``"quantbnb/bank"``; skips where there is no file.

    ``sha256`` is the checksum of the uncompressed text: a file that is there but differs is an error.
    """

    def load(name: str, sha256: str | None = None) -> tuple[FloatArray, IntArray]:
        plain, packed = DATA / f"{name}.csv", DATA / f"{name}.csv.gz"
        if plain.exists():
            text = plain.read_bytes()
        elif packed.exists():
            text = gzip.decompress(packed.read_bytes())
        else:
            pytest.skip(f"benchmark data missing: neither {plain} nor {packed.name} (PROOFWOOD_DATA names the folder)")
        if sha256 is not None:
            found = hashlib.sha256(text).hexdigest()
            assert found == sha256, f"{name} is not the file that the expected figures belong to: sha256 {found}"
        values = np.loadtxt(text.decode().splitlines(), delimiter=",", skiprows=1, ndmin=2)
        return np.ascontiguousarray(values[:, :-1]), values[:, -1].astype(np.int64)

    return load
