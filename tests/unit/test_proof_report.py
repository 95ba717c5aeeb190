from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from proofwood import MaxSplits, MinimalTreeClassifier, OptimalDiagramClassifier, OptimalTreeClassifier
from proofwood.estimators.proof_report import proof_report

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
