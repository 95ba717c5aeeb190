"""Targets: numbers are refused as classes, and cut into bands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.data.targets import Bands, banded, require_classes
from proofwood.exceptions import DataError


def checked(labels: np.ndarray) -> None:
    require_classes(labels, np.unique(labels))


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(300),
        np.arange(300) / 2,
        np.array([0.5, 1.5] * 20),
        np.arange(3000) % 200,
        np.arange(60) % 30,
        np.array([f"{number:,.2f}" for number in np.arange(300) / 7]),
        np.array([f"{number % 28 + 1:02}.{number % 12 + 1:02}.2020" for number in range(300)]),
        np.arange("2020-01-01", "2020-10-01", dtype="datetime64[D]"),
    ],
    ids=["whole", "halves", "two halves", "many", "few rows", "texts", "texts of dates", "dates"],
)
def test_numbers_and_dates_are_no_classes(labels: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"Unknown label type: .*bands=5 for five.*y.astype\(str\)"):
        checked(labels)


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(20),
        np.arange(3000) % 100,
        np.array([1.0, 2.0, 3.0]),
        np.array([f"name {number}" for number in range(300)]),
        np.array([True, False]),
        np.array(["2020", "2021"]),
    ],
    ids=["few", "a hundred codes", "whole floats", "names", "booleans", "two years"],
)
def test_codes_and_names_are_classes(labels: np.ndarray) -> None:
    checked(labels)


def test_bands_of_equally_many_rows_have_names_in_their_order() -> None:
    names, bands = banded(np.arange(1, 13) * 1000.5, 3)
    assert bands is not None
    assert bands.names == ("1: up to 4,002", "2: 4,002 to 8,004", "3: above 8,004")
    assert np.unique(names, return_counts=True)[1].tolist() == [4, 4, 4]
    assert list(bands.names) == sorted(bands.names)
    many = Bands(tuple(range(20)))
    assert list(many.names) == sorted(many.names)


@given(st.lists(st.integers(-5, 5), min_size=2), st.integers(2, 6))
def test_each_number_is_in_the_band_that_its_name_says(numbers: list[int], asked: int) -> None:
    y = np.array(numbers)
    if np.unique(y).size < 2:
        with pytest.raises(DataError, match="into one band"):
            banded(y, asked)
        return
    names, bands = banded(y, asked)
    assert bands is not None
    assert len(bands.edges) < asked
    for number, name in zip(numbers, names, strict=True):
        place = bands.names.index(name)
        assert place == sum(number > edge for edge in bands.edges)
    assert np.array_equal(bands.labels(names), names)


@pytest.mark.parametrize(
    "asked", [1, 0, 101, 10**30, True, "3", range(1000), [], [2, 1], [1, 1], [float("nan")], ["a"], 2.5, object()]
)
def test_what_are_no_bands_is_refused(asked: object) -> None:
    with pytest.raises(ValueError, match="expected a number of bands"):
        banded(np.arange(10), asked)


def test_bands_are_for_numbers_that_are_there() -> None:
    with pytest.raises(DataError, match="is for a target of numbers, and this one holds 'a', 'b'"):
        banded(np.array(["a", "b"]), 2)
    with pytest.raises(DataError, match=r"y has no number in row 1 \(nan\)"):
        banded(np.array([1.0, np.nan]), 2)
    with pytest.raises(DataError, match="into one band: the target goes from 1 to 2"):
        banded(np.array([1.0, 2.0]), [5])
