"""Constraints as values, the inequalities they make, and what they measure, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    MaxSplits,
    MinSamples,
    PredictiveEquality,
)
from proofwood.estimators.constraints import KINDS, Groups, checked, from_plain
from proofwood.problem.diagram import Penalty
from proofwood.problem.objectives import IntegerWeights

# Group a: 4 rows, true + + - -, predicted + + + -: selection 3/4, true positives 2/2, false positives 1/2.
# Group b: 5 rows, true + + + - -, predicted + - - + -: selection 2/5, true positives 1/3, false positives 1/2.
GROUP = list("aaaabbbbb")
TRUE = np.array([1, 1, 0, 0, 1, 1, 1, 0, 0])
PREDICTED = np.array([1, 1, 1, 0, 1, 0, 0, 1, 0])
FAIR = (DemographicParity, EqualOpportunity, PredictiveEquality, EqualizedOdds)


@pytest.mark.parametrize(
    ("kind", "ratio"),
    [
        (DemographicParity, Fraction(2, 5) / Fraction(3, 4)),
        (EqualOpportunity, Fraction(1, 3)),
        (PredictiveEquality, Fraction(1)),
        (EqualizedOdds, Fraction(1, 3)),
    ],
)
def test_the_worst_ratio(kind, ratio):
    assert kind().measure(TRUE, PREDICTED, GROUP) == float(ratio)
    shown = np.array(["no", "yes"])
    assert kind().measure(shown[TRUE], shown[PREDICTED], GROUP) == float(ratio)
    assert kind(pos_label="yes").measure(shown[TRUE], shown[PREDICTED], GROUP) == float(ratio)


def test_the_other_class_can_be_the_favourable_one():
    # predicted 0: 1 of 4 in a, 3 of 5 in b
    assert DemographicParity(pos_label=0).measure(TRUE, PREDICTED, GROUP) == float(Fraction(1, 4) / Fraction(3, 5))


def test_weights_count():
    weight = np.array([1, 1, 1, 1, 4, 0, 0, 1, 1])  # b: 5 of 6 selected
    assert DemographicParity().measure(TRUE, PREDICTED, GROUP, sample_weight=weight) == float(
        Fraction(3, 4) / Fraction(5, 6)
    )


def test_equal_rates_and_rates_of_zero():
    assert DemographicParity().measure([0, 1, 0, 1], [1, 0, 0, 1], list("aabb")) == 1
    assert DemographicParity().measure([0, 1, 0, 1], [0, 0, 0, 0], list("aabb")) == 1  # nobody: no difference
    assert DemographicParity().measure([0, 1, 0, 1], [0, 0, 0, 1], list("aabb")) == 0


def test_three_groups_are_compared_in_pairs_or_as_named():
    group = list("aabbbbcc")
    predicted = [1, 1, 1, 0, 0, 0, 1, 0]  # 1, 1/4, 1/2
    true = [0, 1] * 4
    assert DemographicParity().measure(true, predicted, group) == 0.25
    assert DemographicParity(("a", "c")).measure(true, predicted, group) == 0.5
    rates = DemographicParity().rates(Groups.of(group, 8), np.array([0, 1]), np.array(true))
    assert len(rates) == 6
    assert len(DemographicParity(["c", "a"]).rates(Groups.of(group, 8), np.array([0, 1]), np.array(true))) == 2


@pytest.mark.parametrize("kind", FAIR)
@pytest.mark.parametrize("ratio", [0.3, 0.5, 0.53, 0.54, 0.8, 1.0])
def test_the_inequalities_say_what_the_measure_says(kind, ratio):
    constraint = kind(ratio=ratio)
    weights = np.arange(1, 10)
    rates = constraint.rates(Groups.of(GROUP, 9, weights), np.array([0, 1]), TRUE)
    assert len(rates) == (4 if kind is EqualizedOdds else 2)
    met = all(rate.slack(PREDICTED) >= 0 for rate in rates)
    assert met == (constraint.measure(TRUE, PREDICTED, GROUP, sample_weight=weights) >= ratio)
    assert all("'a'" in rate.text and "'b'" in rate.text and repr(constraint) in rate.text for rate in rates)


def test_a_ratio_that_is_met_exactly():
    group, predicted = ["a"] * 5 + ["b"] * 4, [1, 1, 0, 0, 0, 1, 1, 0, 0]  # 0.4 against 0.5
    constraint = DemographicParity(ratio=0.8)
    assert constraint.measure([0, 1] + [0] * 7, predicted, group) == 0.8
    (one, other) = constraint.rates(Groups.of(group, 9), np.array([0, 1]), np.zeros(9, dtype=int))
    assert one.ratio == Fraction(4, 5)
    assert sorted(rate.slack(np.array(predicted)) for rate in (one, other))[0] == 0


# ------------------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize(
    "values",
    [
        ["m", "f", "m"],
        np.array(["m", "f", "m"]),
        np.array([["m"], ["f"], ["m"]], dtype=object),
        pd.Series(["m", "f", "m"], index=[5, 6, 7]),
        pd.Series(["m", "f", "m"], dtype="category"),
        pd.DataFrame({"sex": ["m", "f", "m"]}),
        pl.Series(["m", "f", "m"]),
        pl.Series(["m", "f", "m"], dtype=pl.Categorical),
        pl.DataFrame({"sex": ["m", "f", "m"]}),
    ],
)
def test_groups_of_any_form(values):
    groups = Groups.of(values, 3)
    assert groups.values == ("f", "m")
    assert groups.index.tolist() == [1, 0, 1]
    assert Groups.of(values, 3, [0, 2, 0]).take(np.array([1])).index.tolist() == [0]
    with pytest.raises(ValueError, match="a class has the weight 0, but rates count its rows"):
        groups.take(np.array([1]))


@pytest.mark.parametrize("values", [[3, 1, 3], np.array([3, 1, 3]), pl.Series([3, 1, 3]), pd.Series([3, 1, 3])])
def test_groups_of_numbers(values):
    assert Groups.of(values, 3).values == (1, 3)
    assert DemographicParity((np.int64(1), 3)).groups == (1, 3)
    assert DemographicParity(np.array([1, 3])) == DemographicParity([1, 3])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "2 values for 3 rows"),
        (["a", None, "b"], r"no value in row 1 \(None\)"),
        ([1.0, float("nan"), 2.0], "no value in row 1"),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), "no value in row 1"),
        (pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02"])), "no value in row 1"),
        (pl.Series(["a", None, "b"]), "no value in row 1"),
        ([1, "a", 2], "cannot be sorted"),
        (np.zeros((3, 2)), r"shape \(3, 2\)"),
        (pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]}), "2 columns"),
    ],
)
def test_groups_that_are_none(values, message):
    with pytest.raises(ValueError, match=message):
        Groups.of(values, 3)


@pytest.mark.parametrize("kind", [EqualOpportunity, EqualizedOdds])
def test_a_group_without_positive_rows_is_named(kind):
    with pytest.raises(ValueError, match="group 'b' has no row of the positive class"):
        kind().measure([1, 0, 0, 0], [1, 0, 1, 0], list("aabb"))


def test_groups_that_cannot_be_compared():
    with pytest.raises(ValueError, match="group 'a' has no row of another class"):
        PredictiveEquality().measure([1, 1, 0, 1], [1, 0, 1, 0], list("aabb"))
    with pytest.raises(ValueError, match="only the value 'a'"):
        DemographicParity().measure([1, 0], [1, 0], ["a", "a"])
    with pytest.raises(ValueError, match="there is no group 'c'; sensitive_features has 'a', 'b'"):
        DemographicParity(("a", "c")).measure([1, 0], [1, 0], ["a", "b"])
    with pytest.raises(ValueError, match="60 different values"):
        DemographicParity().measure([1, 0] * 30, [1, 0] * 30, range(60))
    groups = Groups.of(["a", "b", "c"], 3, [1, 1, 0]).take(np.array([0, 1]))  # no row of c is left
    with pytest.raises(ValueError, match="group 'c' has no row, so its selection rate is undefined"):
        DemographicParity(("a", "c")).rates(groups, np.array([0, 1]), np.array([0, 1]))


def test_the_favourable_class_must_be_clear():
    with pytest.raises(ValueError, match=r"it is not clear which one is favourable.*pos_label=2"):
        DemographicParity().measure([0, 1, 2], [0, 1, 2], ["a", "b", "b"])
    assert DemographicParity(pos_label=2).measure([0, 1, 2], [0, 1, 2], ["a", "b", "b"]) == 0
    with pytest.raises(ValueError, match="is not a label; the labels are"):
        DemographicParity(pos_label="x").positive_code(np.array(["u", "v"]))
    with pytest.raises(ValueError, match="y_true has 2 labels and y_pred 3"):
        DemographicParity().measure([0, 1], [0, 1, 1], ["a", "b"])


# ------------------------------------------------------------------------------------------------------- values


def test_constraints_are_values():
    assert repr(DemographicParity()) == "DemographicParity(ratio=0.8)"
    assert repr(EqualOpportunity(["f", "m"], ratio=1, pos_label="yes")) == (
        "EqualOpportunity(('f', 'm'), ratio=1, pos_label='yes')"
    )
    assert repr(DemographicParity(penalty=2)) == "DemographicParity(ratio=0.8, penalty=2)"
    assert DemographicParity(penalty=2) != DemographicParity()
    assert repr(MaxSplits(7)) == "MaxSplits(7)"
    assert repr(MinSamples(0.05)) == "MinSamples(0.05)"
    assert DemographicParity(["f", "m"]) == DemographicParity(("f", "m")) != EqualOpportunity(("f", "m"))
    assert len({MaxSplits(3), MaxSplits(3), MinSamples(3)}) == 2
    with pytest.raises(AttributeError):
        MaxSplits(3).n_splits = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    "constraint",
    [
        *(kind() for kind in FAIR),
        DemographicParity([1, 2], pos_label="x", penalty=0.5),
        MaxSplits(2),
        MinSamples(0.1),
    ],
)
def test_the_plain_form_and_back(constraint):
    assert from_plain(constraint.to_plain()) == constraint
    assert type(from_plain(constraint.to_plain())) is type(constraint)
    assert type(constraint).__name__ in KINDS
    assert type(constraint).__doc__


def test_the_plain_form_names_a_penalty_only_if_there_is_one():
    assert "penalty" not in DemographicParity().to_plain()
    assert DemographicParity(penalty=0).to_plain()["penalty"] == 0


def test_what_groups_lack_by_hand():
    group = list("aabbbbcc")
    predicted = np.array([1, 1, 1, 0, 0, 0, 1, 0])  # 2 of 2, 1 of 4, 1 of 2

    def priced(weights):
        groups = replace(Groups.of(group, 8), counted=IntegerWeights(weights, Fraction(1)))
        return [Penalty(r, 1) for r in DemographicParity().rates_by_group(groups, np.array([0, 1]), predicted)]

    one = np.ones(8, dtype=np.int64)
    assert [penalty.short(predicted) for penalty in priced(one)] == [0, 3, 1]  # 0.8 * 4 - 1, 0.8 * 2 - 1
    assert [penalty.most for penalty in priced(one)] == [2, 4, 2]
    assert [penalty.short(predicted) for penalty in priced(5 * one)] == [0, 11, 3]  # 16 - 5, 8 - 5


def test_an_unknown_plain_form():
    with pytest.raises(ValueError, match="constraint 'Fair' is unknown"):
        from_plain({"constraint": "Fair"})


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (DemographicParity(ratio=1.2), "ratio must be a number from 0"),
        (DemographicParity(ratio=-0.1), "ratio must be"),
        (EqualizedOdds(ratio="high"), "ratio must be"),
        (EqualizedOdds(ratio=True), "ratio must be"),
        (EqualizedOdds(ratio=float("nan")), "ratio must be"),
        (DemographicParity(penalty=-0.5), "penalty must be a number from 0"),
        (DemographicParity(penalty=True), "penalty must be"),
        (DemographicParity(penalty="much"), "penalty must be"),
        (DemographicParity(penalty=float("inf")), "penalty must be"),
        (DemographicParity(3), "groups must be None, the name of a column, or a list"),
        (DemographicParity(["a"]), "at least two values, all different"),
        (DemographicParity(["a", "a"]), "at least two values, all different"),
        (DemographicParity([[True, False], [False, True]]), "not masks"),
        (MaxSplits(0), "integer from 1"),
        (MaxSplits(2.0), "integer from 1"),
        (MaxSplits(True), "integer from 1"),
        (MinSamples(0), "a float above 0 and up to 0.5"),
        (MinSamples(0.0), "a float above 0"),
        (MinSamples(0.6), "up to 0.5"),
        (MinSamples(-3), "integer from 1"),
        (MinSamples("5%"), "a float above 0"),
        (MinSamples(True), "a float above 0"),
    ],
)
def test_values_out_of_range(constraint, message):
    with pytest.raises(ValueError, match=message):
        checked([constraint])


@pytest.mark.parametrize(
    "given", ["DemographicParity", 3, None, {"a": 1}, [3], [MaxSplits], [DemographicParity(), "x"]]
)
def test_things_that_are_no_constraints(given):
    with pytest.raises(ValueError, match="constraints"):
        checked(given)


def test_a_lone_constraint_is_one():
    assert checked(MaxSplits(3)) == (MaxSplits(3),)
    with pytest.raises(ValueError, match="expected a list of constraints"):
        checked(iter([MaxSplits(3)]))  # an iterator is empty the second time


def test_the_least_weight():
    assert MinSamples(0.05).real(Fraction(150)) == Fraction(15, 2)
    assert MinSamples(0.1).real(Fraction(30)) == 3
    assert MinSamples(7).real(Fraction(500)) == 7
    assert MinSamples(7).real(Fraction(5)) == 6  # met by no split
