from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from tests.command_line import worked


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)


def write_noise(path):
    """A table on which nothing is proved within a test."""
    random = np.random.default_rng(0)
    frame = pl.DataFrame(random.random((1500, 12))).with_columns(y=pl.Series(random.integers(0, 2, 1500)))
    frame.write_csv(path)
    return path


@pytest.fixture
def noise(tmp_path):
    return write_noise(tmp_path / "noise.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Iris, a tree of it, and noise, for the command line."""
    folder = tmp_path_factory.mktemp("command-line")
    worked("data", "iris", "--out", folder / "iris.csv")
    worked("fit", folder / "iris.csv", "--target", "species", "--max-depth", 2, "--out", folder / "tree.json")
    write_noise(folder / "noise.csv")
    return folder
