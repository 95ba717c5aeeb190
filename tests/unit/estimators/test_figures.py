"""Figures of a proof as they are printed: no more is said than is proved."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from proofwood import MaxSplits, MinimalTreeClassifier, OptimalDiagramClassifier, OptimalTreeClassifier
from proofwood.estimators.proof_report import proof_report
from proofwood.estimators.reporting import progress_line, proof_line, unproved_text
from proofwood.result import Figures, Part, ProgressEvent, Result, Stats, Status, figure
from proofwood.show.trace import status_text

LEAF = OptimalTreeClassifier(max_depth=0).fit([[0.0], [1.0]], [0, 1]).model_


def number(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


def result(objective: float, bound: float, status: Status) -> Result:
    stats = Stats(engine="test", stopped_by=None if status is Status.OPTIMAL else "time_limit")
    return Result(LEAF, objective, "cost", bound, status, stats)


def test_bounds_are_rounded_down_and_objectives_and_gaps_up() -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-9, 1.0, 1e7, 1e12):
        for _ in range(300):
            bound, objective = np.sort(rng.random(2) * scale).tolist()
            said = Figures.of(ProgressEvent(0.0, objective, bound))
            assert number(said.objective) >= Fraction(objective) >= number(said.objective) * Fraction(99999, 100000)
            assert number(said.lower_bound) <= Fraction(bound) <= number(said.lower_bound) * Fraction(100001, 100000)
            assert number(said.gap) >= Fraction(objective) - Fraction(bound)
            share = (Fraction(objective) - Fraction(bound)) / Fraction(objective)
            assert share <= number(said.share.strip("<%")) / 100 <= share + Fraction(2, 1000)
    close = Figures.of(ProgressEvent(0.0, 1.0, math.nextafter(1.0, 0)))
    assert close.share == "<0.1%"
    assert Figures.of(ProgressEvent(0.0, 1000.0, 999.0)).share == "0.1%"


def test_numbers_that_are_equal_are_one_text() -> None:
    for value in (0.1 + 0.2, 1 / 3, 2 / 3, 12.0, 0.0, 1234567.125):
        said = Figures.of(ProgressEvent(0.0, value, value))
        assert said.objective == said.lower_bound == figure(value)
        assert said.gap == "0"
    assert Figures.of(ProgressEvent(0.0, 0.1 + 0.2, 0.1 + 0.2)).objective == "0.3"


def test_counts_have_no_decimals_and_there_may_be_no_model() -> None:
    assert Figures.of(ProgressEvent(0.0, 1234567.0, 12.0)) == Figures("1,234,567", "12", "1,234,555", "100.0%")
    assert Figures.of(ProgressEvent(0.0, math.inf, 2.5)) == Figures("inf", "2.5", "inf", "")
    assert Figures.of(ProgressEvent(0.0, 3.0, -math.inf)) == Figures("3", "-inf", "inf", "")
    assert Figures.of(ProgressEvent(0.0, 0.25, -0.0000001)).lower_bound == "-1e-07"


@pytest.mark.parametrize(
    "text",
    [
        lambda found: progress_line(ProgressEvent(0.0, found.objective, found.lower_bound)),
        lambda found: proof_line(found, parts=(), permitted=0.0),
        lambda found: unproved_text(found, "less"),
        lambda found: found._repr_html_(),
    ],
    ids=["progress", "proof", "warning", "notebook"],
)
def test_all_texts_are_of_these_figures(text) -> None:
    said = text(result(2 / 3, 1 / 3 + 1e-7, Status.FEASIBLE))
    assert "0.666667" in said
    assert "0.333333" in said
    assert "0.333334" in said  # the gap, 0.3333332333
    same = text(result(2 / 3, 2 / 3, Status.OPTIMAL))
    assert "0.666666" not in same.replace("0.666667", "")
    assert "0.333" not in same


def test_the_headline_and_parts_are_of_these_figures() -> None:
    assert "at least 0.333333" in status_text(result(2 / 3, 1 / 3 + 1e-7, Status.FEASIBLE))
    assert "within 0.333334 of" in status_text(result(2 / 3, 1 / 3 + 1e-7, Status.WITHIN_GAP))
    part = Part("errors", 2 / 3, 1 / 3 + 7e-7, Status.FEASIBLE)
    assert Figures.of(part) == Figures("0.666667", "0.333334", "0.333333", "50.0%")


X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR = np.array([0, 1, 1, 0])


def test_a_tree_has_a_claim_and_nothing_more():
    report = proof_report(OptimalTreeClassifier(max_depth=2).fit(X, XOR))
    assert report.claim == "no tree of depth at most 2 makes fewer errors"
    assert (report.parts, report.facts) == ((), ())


@pytest.mark.parametrize(
    ("minimize", "expected"),
    [("depth", {"depth": 2}), ("nodes", {"depth": 2, "nodes": 7}), ("nodes-any-depth", {"nodes": 7})],
)
def test_the_parts_are_those_that_were_asked_for(minimize, expected):
    report = proof_report(MinimalTreeClassifier(minimize=minimize).fit(X, XOR))
    assert {part.unit: part.objective for part in report.parts} == expected


def test_facts_name_the_constraints():
    model = OptimalDiagramClassifier(widths=(1, 2), constraints=[MaxSplits(1)], time_limit=5).fit(X, XOR)
    names = [name for name, _ in proof_report(model).facts]
    assert names[-1] == "constraint"
    assert "share" in names


def test_nothing_is_proved_before_fit():
    with pytest.raises(NotFittedError):
        proof_report(OptimalTreeClassifier())
