"""The corpus: answers repeat, and a changed claim is a fault while another witness is not."""

from __future__ import annotations

import itertools

from tests import corpus
from tests.fuzz import explanations


def test_answers_about_a_model_repeat() -> None:
    both = []
    for _ in range(2):
        case, _rng = explanations.make(corpus.SEED, explanations.MODELS.index(explanations.forest), corpus.MAKERS)
        explainer = corpus.Explainer(case.model, X=case.X)
        answers = dict(itertools.chain(corpus.questions(explainer, case.X[[0]]), corpus.of_model(explainer, case)))
        both.append({name: corpus.asked(question) for name, question in answers.items()})
    assert both[0] == both[1]
    assert sum("refused" in answer for answer in both[0].values()) <= 2


def test_a_changed_claim_is_a_fault_and_another_witness_is_none() -> None:
    before = {"status": "optimal", "distance": (1.5).hex(), "may": {"rows": [[0]], "calls": 3}}
    assert corpus.difference(before, before) == ([], 0)
    assert corpus.difference(before, before | {"status": "feasible"}) == (["status"], 0)
    assert corpus.difference(before, before | {"may": {"rows": [[1]], "calls": 3}}) == ([], 1)
    assert corpus.difference(before, {"refused": "no"})[0] == ["status", "distance", "refused"]
    several = {"all": [before, before]}
    assert corpus.difference(several, {"all": [before]}) == (["number of answers"], 0)
    assert corpus.difference(several, {"all": [before, before | {"distance": (2.0).hex()}]}) == (["distance"], 0)
