"""Explanations of random small ensembles against brute force: every set of features, every row of the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.nearest.search import cheapest
from proofwood.explain.oracles.oracle import Oracle
from proofwood.explain.oracles.paper import PaperOracle
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.search.attribution import attribution
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.extract import NotSufficientError, abductive, contrastive
from proofwood.explain.search.inflate import inflate
from proofwood.explain.search.questions import Questions, members
from proofwood.explain.search.relevance import necessary, relevant
from proofwood.explain.search.smallest import smallest
from proofwood.model.node_table import FloatArray, IntArray
from tests import naive_explain
from tests.score_models import VOTES, random_cells, random_scores

Make = Callable[[ScoreModel], Oracle]


class Case:
    """A model, a row of it, and all that brute force knows about the row."""

    def __init__(self, rng: np.random.Generator, make: Make, scores: ScoreModel, cells: IntArray) -> None:
        self.rng, self.scores, self.cells = rng, scores, cells
        self.oracle = make(scores)
        self.label = scores.winner(cells)
        self.abductive = naive_explain.abductive(scores, cells, self.label)
        self.contrastive = naive_explain.contrastive(scores, cells, self.label)
        self.everything = frozenset(range(scores.n_features))

    def some(self) -> list[int]:
        """A few features, often none."""
        size = int(self.rng.integers(0, 1 + self.scores.n_features // 2))
        return [int(f) for f in self.rng.permutation(self.scores.n_features)[:size]]

    def suffices(self, features: frozenset[int]) -> bool:
        return not naive_explain.changes(self.scores, self.cells, self.label, features)


def cases(seed: int, count: int, make: Make, votes: tuple[str, ...] = VOTES) -> Iterator[Case]:
    """Rows whose class rounding leaves in no doubt."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        vote = VOTES[made % 3] if len(votes) == 3 else votes[0]
        scores = random_scores(rng, vote=vote, n_classes=2 + made // 3 % 3, max_cells=150)  # type: ignore[arg-type]
        cells = random_cells(rng, scores)
        if naive_explain.changes(scores, cells, scores.winner(cells), range(scores.n_features)):
            continue
        made += 1
        yield Case(rng, make, scores, cells)


def check_abductive(case: Case) -> None:
    order = case.rng.permutation(case.scores.n_features).tolist()
    for settings in ({}, {"order": order}, {"start": case.some()}):
        found = abductive(Questions(case.oracle, case.cells, case.label), **settings)
        assert found.complete
        assert found.features in case.abductive
        assert set(found.witnesses) == found.features
        for feature, witness in found.witnesses.items():
            columns = [c for other in found.features - {feature} for c in case.scores.features[other]]
            assert (witness[columns] == case.cells[columns]).all()
            assert case.scores.allows(witness)
    plain = case.everything  # deletion in the order given, step by step
    for feature in order:
        if case.suffices(plain - {feature}):
            plain -= {feature}
    assert abductive(Questions(case.oracle, case.cells, case.label), order=order).features == plain


def check_keep_and_free(case: Case) -> None:
    keep, free = case.some(), case.some()
    free = [feature for feature in free if feature not in keep]
    most = case.everything - set(free)
    if not case.suffices(most):
        with pytest.raises(NotSufficientError):
            abductive(Questions(case.oracle, case.cells, case.label), keep=keep, free=free)
        assert smallest(Questions(case.oracle, case.cells, case.label), keep=keep, free=free) is None
        return
    found = abductive(Questions(case.oracle, case.cells, case.label), keep=keep, free=free)
    assert set(keep) <= found.features <= most
    assert case.suffices(found.features)
    assert not any(case.suffices(found.features - {feature}) for feature in found.features - set(keep))
    best = smallest(Questions(case.oracle, case.cells, case.label), keep=keep, free=free)
    assert best is not None
    assert best.optimal
    assert case.suffices(best.found.features)
    fewest = min(len(chosen | set(keep)) for chosen in case.abductive if chosen <= most)
    assert len(best.found.features) == fewest


def check_contrastive(case: Case) -> None:
    immutable = case.some()
    expected = {changed for changed in case.contrastive if not changed & set(immutable)}
    found = contrastive(Questions(case.oracle, case.cells, case.label), immutable=immutable)
    assert (found is None) == (not expected)
    if found is not None:
        assert found.complete
        assert found.features in expected
    best = smallest(Questions(case.oracle, case.cells, case.label), kind="contrastive", free=immutable)
    assert (best is None) == (not expected)
    if best is not None:
        assert best.optimal
        assert len(best.found.features) == naive_explain.smallest(expected)


def check_all(case: Case) -> None:
    questions = Questions(case.oracle, case.cells, case.label)
    run = Enumeration(questions)
    listed = [(item.kind, item.features) for item in run]
    assert run.complete
    assert len(listed) == len(set(listed))
    assert {features for kind, features in listed if kind == "abductive"} == case.abductive
    assert {features for kind, features in listed if kind == "contrastive"} == case.contrastive
    assert {frozenset(members(mask)) for mask in run.abductive} == case.abductive
    asked = questions.calls
    best = smallest(questions)
    assert best is not None
    assert best.optimal
    assert len(best.found.features) == best.lower_bound == naive_explain.smallest(case.abductive)
    assert questions.calls == asked  # all is known
    in_all, in_some = naive_explain.necessary(case.abductive), naive_explain.relevant(case.abductive)
    for known in (Questions(case.oracle, case.cells, case.label), questions):
        assert necessary(known) == {feature: feature in in_all for feature in case.everything}
        assert relevant(known) == {feature: feature in in_some for feature in case.everything}
    shares = attribution(Questions(case.oracle, case.cells, case.label))
    assert shares.complete
    for feature in case.everything:
        having = sum(feature in features for features in case.abductive)
        assert shares.share[feature] == pytest.approx(having / len(case.abductive))


def check_inflated(case: Case) -> None:
    scores = case.scores
    features = sorted(case.abductive, key=sorted)[int(case.rng.integers(len(case.abductive)))]
    box = inflate(Questions(case.oracle, case.cells, case.label), features, order=case.some())
    assert box.complete

    def changes(low: IntArray, high: IntArray) -> bool:
        spans = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
        return naive_explain.changes_in_box(scores, case.label, spans)

    assert not changes(box.low, box.high)
    assert ((box.low <= case.cells) & (case.cells <= box.high)).all()
    rows = np.array([row for row, _ in naive_explain.space(scores)])
    for feature in case.everything:
        columns = list(scores.features[feature])
        if feature not in features:
            assert (box.low[columns] == 0).all()
            assert (box.high[columns] == scores.n_thresholds[columns]).all()
        elif len(columns) > 1 and (scores.n_thresholds[columns] <= 1).all():
            for value in np.unique(rows[:, columns], axis=0):  # no value of the group can be added
                low, high = box.low.copy(), box.high.copy()
                low[columns], high[columns] = np.minimum(low[columns], value), np.maximum(high[columns], value)
                inside = (low == box.low).all() and (high == box.high).all()
                assert inside or changes(low, high)
        else:
            for column in columns:  # no column can be widened by a cell
                for low_step, high_step in ((1, 0), (0, 1)):
                    low, high = box.low.copy(), box.high.copy()
                    low[column] -= low_step
                    high[column] += high_step
                    if low[column] >= 0 and high[column] <= scores.n_thresholds[column]:
                        assert changes(low, high)


def random_prices(rng: np.random.Generator, scores: ScoreModel, cells: IntArray) -> list[FloatArray]:
    """Whole prices that do not fall away from the row; now and then cells that may not be taken at all."""
    prices = []
    for own, last in zip(cells.tolist(), scores.n_thresholds.tolist(), strict=True):
        steps = rng.integers(0, 4, last + 1).astype(np.float64)
        price = np.zeros(last + 1)
        for cell in range(own + 1, last + 1):
            price[cell] = price[cell - 1] + steps[cell]
        for cell in reversed(range(own)):
            price[cell] = price[cell + 1] + steps[cell]
        assert all(a >= b for a, b in pairwise(price[: own + 1]))
        if rng.random() < 0.2:
            price[own + 1 :] = np.inf
        prices.append(price)
    return prices


def check_counterfactual(case: Case) -> None:
    scores, immutable = case.scores, case.some()
    others = [k for k in range(scores.n_classes) if k != case.label]
    some = case.rng.random() < 0.4 and not isinstance(case.oracle, PaperOracle)  # which is asked about all others
    targets = [int(case.rng.choice(others))] if some else None
    prices = random_prices(case.rng, scores, case.cells)
    expected = naive_explain.least_distance(
        scores, case.cells, case.label, [price.tolist() for price in prices], targets, kept=immutable
    )
    q = Questions(case.oracle, case.cells, case.label, targets=targets)
    found = cheapest(q, prices, scores.box(case.cells, immutable))
    if expected is None or expected == np.inf:
        assert found.status == "none"
        return
    assert found.status == "optimal"
    assert found.distance == expected
    assert found.lower_bound == pytest.approx(expected, rel=1e-9)
    assert found.cells is not None
    assert sum(price[cell] for price, cell in zip(prices, found.cells, strict=True)) == expected
    sums = dict(naive_explain.space(scores))[tuple(found.cells.tolist())]
    assert targets is None or found.label in targets
    assert naive_explain.beats(scores, sums, found.label, case.label)


CHECKS = (check_abductive, check_keep_and_free, check_contrastive, check_all, check_inflated, check_counterfactual)


@pytest.mark.parametrize("check", CHECKS)
def test_explanations_are_those_of_brute_force(check: Callable[[Case], None]) -> None:
    for case in cases(77 + CHECKS.index(check), 60, SearchOracle):
        check(case)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("part", range(4))
def test_explanations_of_1000_ensembles(check: Callable[[Case], None], part: int) -> None:
    for case in cases(1000 + part, 250, SearchOracle):
        check(case)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_explanations_by_the_paper(check: Callable[[Case], None]) -> None:
    for case in cases(2000, 150, PaperOracle, ("majority",)):
        check(case)


def test_all_features_suffice_for_a_row_that_rounding_leaves_in_doubt() -> None:
    """And nothing less, so that each feature alone is a contrastive explanation."""
    rng = np.random.default_rng(9)
    seen = 0
    while seen < 40:
        scores = random_scores(rng, vote="soft", n_classes=2, margin=2, max_cells=100)
        case = Case(rng, SearchOracle, scores, random_cells(rng, scores))
        if naive_explain.changes(scores, case.cells, case.label, case.everything):
            seen += 1
            assert abductive(Questions(case.oracle, case.cells, case.label)).features == case.everything
            assert case.abductive == {case.everything}
            check_contrastive(case)
            check_all(case)
