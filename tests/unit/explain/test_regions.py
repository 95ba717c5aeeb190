"""Robustness of a row, and the classes that a region of rows can have, against every cell of the grid."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from proofwood import Explainer, OptimalTreeClassifier
from proofwood.data.kinds import Kind
from tests.fuzz import explanations as fuzz


def random_region(rng: np.random.Generator, explainer: Explainer) -> dict[str, Any]:
    where: dict[str, Any] = {}
    for j, given in enumerate(explainer.model.inputs):
        if rng.random() < 0.5:
            continue
        if given.levels:
            first, last = sorted(rng.integers(0, len(given.levels), 2).tolist())
            where[given.name] = list(given.levels[first : last + 1])
            continue
        cuts = [cut for g in explainer.model.grid.of_input[j] for cut in explainer.model.grid.columns[g].thresholds]
        ends = sorted(float(rng.choice([*cuts, 0.0])) + rng.normal() * rng.integers(0, 2) for _ in range(2))
        if given.whole:
            ends = [math.floor(ends[0]), math.ceil(ends[1])]
        where[given.name] = tuple(min(max(end, given.low), given.high) for end in ends)
    return where


def classes_there(explainer: Explainer, where: dict[str, Any]) -> set[int]:
    """Codes of the classes in a region, by a value in every piece between its ends and the thresholds."""
    model, values = explainer.model, []
    for j, given in enumerate(model.inputs):
        rule = where.get(given.name)
        mine = [model.grid.columns[g] for g in model.grid.of_input[j]]
        if given.kind is Kind.NOMINAL:
            codes = range(len(given.levels) + given.other) if rule is None else map(given.levels.index, rule)
            found = [float(code) for code in codes]
        else:
            if given.levels and rule is not None:
                rule = (given.levels.index(rule[0]), given.levels.index(rule[-1]))
            low, high = (given.low, given.high) if rule is None else rule
            cuts = {float(cut) for one in mine if one.role.startswith("value") for cut in one.thresholds}
            tried = {min(max(0.0, low), high), low, high, *cuts, *(np.nextafter(cut, np.inf) for cut in cuts)}
            tried |= {math.floor(value) + 1.0 for value in cuts} if given.whole else set()
            found = [value for value in tried if math.isfinite(value) and low <= value <= high]
            found = sorted({float(math.floor(value)) for value in found} if given.whole else set(found))
            found = [value for value in found if low <= value <= high]
        if given.missing and rule is None:
            found.append(math.nan)
        values.append(found)
    if math.prod(map(len, values)) > 20_000:
        pytest.skip("the grid is too large to be listed")
    rows = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(values))
    return set(model.predict_codes(rows).tolist())


@pytest.mark.parametrize("number", fuzz.numbers(18))
@pytest.mark.filterwarnings("ignore")
def test_classes_of_a_region_are_those_of_its_rows(number: int) -> None:
    case, rng = fuzz.make(21, number)
    explainer = Explainer(case.model, X=case.X)
    for _ in range(3):
        where = random_region(rng, explainer)
        found = explainer.possible(where)
        there = classes_there(explainer, where)
        for code, label in enumerate(explainer.model.classes.tolist()):
            answer = found.classes[label]
            assert answer is None or answer == (code in there), (where, label, found)
            if answer:
                assert model_class(explainer, found.rows[label]) == code
                assert inside(explainer, where, found.rows[label])


def model_class(explainer: Explainer, row: Any) -> int:
    return int(explainer.model.predict_codes(np.asarray(row)[np.newaxis])[0])


def inside(explainer: Explainer, where: dict[str, Any], row: Any) -> bool:
    for given, value in zip(explainer.model.inputs, row.tolist(), strict=True):
        rule = where.get(given.name)
        if rule is None:
            continue
        if isinstance(rule, list):
            if given.levels[int(value)] not in rule:
                return False
        elif not rule[0] <= value <= rule[1]:
            return False
    return True


RNG = np.random.default_rng(1)
NUMBERS = pd.DataFrame({"age": RNG.integers(18, 80, 300), "income": RNG.normal(40, 10, 300)})
Y = (NUMBERS["income"] + 0.1 * NUMBERS["age"] > 45).astype(int)
FOREST = RandomForestClassifier(20, max_depth=5, random_state=0).fit(NUMBERS, Y)


def test_the_class_stays_within_the_radius_and_not_beyond() -> None:
    explainer = Explainer(FOREST, X=NUMBERS)
    for at in range(5):
        row = NUMBERS.iloc[[at]]
        label = FOREST.predict(row)[0]
        for metric in ("l1", "l2", "linf"):
            found = explainer.robustness(row, metric=metric)  # type: ignore[arg-type]
            assert found.status == "exact"
            assert found.radius == pytest.approx(found.upper)
            assert found.nearest.verify().ok
            away = RNG.normal(size=(2000, 2))
            if metric == "linf":
                away /= np.abs(away).max(axis=1, keepdims=True)
            else:
                away /= np.linalg.norm(away, 1 if metric == "l1" else 2, axis=1, keepdims=True)
            near = row.to_numpy(float) + away * found.radius * RNG.random((2000, 1)) * (1 - 1e-9)
            near[:, 0] = row["age"].iloc[0] + np.trunc(near[:, 0] - row["age"].iloc[0])
            assert (FOREST.predict(pd.DataFrame(near, columns=NUMBERS.columns)) == label).all()


def test_radius_of_a_model_that_never_changes_is_infinite() -> None:
    always = RandomForestClassifier(3, max_depth=1, random_state=0).fit(NUMBERS, [0] * 299 + [1])
    found = Explainer(always).robustness(NUMBERS.iloc[[0]])
    assert found.status == "constant"
    assert found.radius == found.upper == math.inf
    assert found.to_dict()["radius"] is None
    assert "wherever" in str(found)


def test_a_radius_that_time_stopped_is_a_bound() -> None:
    forest = RandomForestClassifier(200, random_state=0).fit(NUMBERS, Y)
    explainer = Explainer(forest, X=NUMBERS)
    begin = time.perf_counter()
    found = explainer.robustness(NUMBERS.iloc[[0]], time_limit=0.01)
    assert time.perf_counter() - begin < 2
    whole = explainer.robustness(NUMBERS.iloc[[0]])
    assert found.radius <= whole.radius <= found.upper
    assert str(found)
    assert str(whole)


def test_a_region_says_what_is_possible_in_it() -> None:
    explainer = Explainer(FOREST, X=NUMBERS)
    rich = explainer.possible({"income": (70, math.inf)})
    assert rich.classes == {0: False, 1: True}
    assert rich.constant is True
    everything = explainer.possible({})
    assert everything.classes == {0: True, 1: True}
    assert everything.constant is False
    assert "possible, age = " in str(everything)
    assert explainer.possible({"age": 30, "income": 20.0}).classes == {0: True, 1: False}


def test_a_region_of_ordered_categories_keeps_to_the_bounds() -> None:
    sizes = pd.Series(pd.Categorical(["s", "m", "l"] * 20, categories=["s", "m", "l"], ordered=True))
    table = pd.DataFrame({"size": sizes, "n": np.arange(60) % 7})
    tree = OptimalTreeClassifier(1).fit(table.iloc[:40], np.where(sizes[:40] == "m", "yes", "no"))
    explainer = Explainer(tree, X=table[sizes != "l"], bounds={"size": (0, 1)})
    both = explainer.possible({"size": ["m", "l"]})
    assert both.classes == explainer.possible({"size": ["m"]}).classes
    with pytest.raises(ValueError, match=r"contains no value of the column: its values are 's', 'm'"):
        explainer.possible({"size": ["l"]})


WRONG = [
    ({"height": (1, 2)}, "height"),
    ({"age": (2, 1)}, "is an empty interval"),
    ({"age": (30.2, 30.8)}, "integers only"),
    ({"age": "old"}, r"expected \(low, high\) or a number"),
    ([("age", 3)], "expected a mapping"),
]


@pytest.mark.parametrize(("where", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_regions_are_refused_in_words(where: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Explainer(FOREST, X=NUMBERS).possible(where)
