"""Explanations of random small ensembles against brute force: every set of features, every row of the grid."""

from __future__ import annotations

from collections.abc import Callable, Collection
from unittest import mock

import numpy as np
import pytest

from proofwood.explain.nearest.search import cheapest
from proofwood.explain.oracles.paper import PaperOracle
from proofwood.explain.oracles.searches import SearchOracle
from proofwood.explain.search import extract
from proofwood.explain.search.attribution import attribution
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.extract import NotSufficientError, abductive, contrastive
from proofwood.explain.search.inflate import inflate
from proofwood.explain.search.questions import Questions, members
from proofwood.explain.search.relevance import necessary, relevant
from proofwood.explain.search.smallest import smallest
from proofwood.model.node_table import IntArray
from tests import naive_explain
from tests.explain_oracles import Case, TryAll, cases
from tests.fuzz._records import about
from tests.score_models import VOTES, Vote, random_cells, random_fixed, random_prices, random_scores, running_example


def check_witnesses(case: Case, witnesses: dict[int, IntArray], others: Collection[int]) -> None:
    """Rows of another class, each of which agrees with the row on all ``others`` but the feature it stands for."""
    for feature, witness in witnesses.items():
        columns = [c for other in set(others) - {feature} for c in case.scores.features[other]]
        assert (witness[columns] == case.cells[columns]).all()
        assert case.gets_another(witness)


def check_abductive(case: Case) -> None:
    order = case.rng.permutation(case.scores.n_features).tolist()
    one = sorted(case.abductive, key=sorted)[int(case.rng.integers(len(case.abductive)))]
    for settings in ({}, {}, {"start": case.some()}, {"start": one}):
        with mock.patch.object(extract, "MANY", int(case.rng.choice([1, 99]))):  # in groups, or one by one
            found = abductive(case.questions(), **settings)
        assert found.complete
        assert found.proved
        assert found.features in case.abductive
        assert set(found.witnesses) == found.features
        check_witnesses(case, found.witnesses, found.features)
    assert found.features == one
    plain = case.everything  # deletion in the order given, step by step
    for feature in order:
        if case.suffices(plain - {feature}):
            plain -= {feature}
    for many in (1, 99):
        with mock.patch.object(extract, "MANY", many):
            assert abductive(case.questions(), order=order).features == plain


def check_keep_and_free(case: Case) -> None:
    keep, free = case.some(), case.some()
    free = [feature for feature in free if feature not in keep]
    most = case.everything - set(free)
    if not case.suffices(most):
        with pytest.raises(NotSufficientError, match="cannot all be free") as error:
            abductive(case.questions(), keep=keep, free=free)
        assert case.gets_another(error.value.witness)
        assert smallest(case.questions(), keep=keep, free=free) is None
        return
    found = abductive(case.questions(), keep=keep, free=free)
    assert found.complete
    assert set(keep) <= found.features <= most
    assert case.suffices(found.features)
    assert not any(case.suffices(found.features - {feature}) for feature in found.features - set(keep))
    best = smallest(case.questions(), keep=keep, free=free)
    assert best is not None
    assert best.smallest
    assert case.suffices(best.features)
    fewest = min(len(chosen | set(keep)) for chosen in case.abductive if chosen <= most)
    assert len(best.features) == fewest


def check_contrastive(case: Case) -> None:
    for immutable in ([], case.some()):
        expected = {changed for changed in case.contrastive if not changed & set(immutable)}
        found = contrastive(case.questions(), immutable=immutable)
        assert (found is None) == (not expected)
        if found is not None:
            assert found.complete
            assert found.features in expected
            for witness in found.witnesses.values():
                moved = set(case.scores.feature_of[witness != case.cells].tolist())
                assert moved == found.features
                assert case.gets_another(witness)
        best = smallest(case.questions(), kind="contrastive", free=immutable)
        assert (best is None) == (not expected)
        if best is not None:
            assert best.smallest
            assert best.complete
            assert best.features in expected
            assert len(best.features) == best.lower_bound == naive_explain.smallest(expected)


def check_targets(case: Case) -> None:
    """Fewer classes weaken what has to be proved."""
    others = [k for k in range(case.scores.n_classes) if k != case.label]
    targets = case.rng.choice(others, int(case.rng.integers(1, len(others) + 1)), replace=False).tolist()
    if isinstance(case.questions().oracle, PaperOracle):  # which is asked about all others
        targets = others
    about_row = case.scores, case.cells, case.label, targets
    found = abductive(case.questions(targets=targets))
    assert found.features in naive_explain.abductive(*about_row)
    expected, changing = naive_explain.contrastive(*about_row), contrastive(case.questions(targets=targets))
    assert (changing is None) == (not expected)
    assert changing is None or changing.features in expected


def check_all(case: Case) -> None:
    for first in ("contrastive", "abductive"):
        questions = case.questions()
        run = Enumeration(questions, first=first)
        listed = []
        for item in run:  # stops, and goes on where it was
            listed.append(item)
            break
        assert not run.complete
        listed += run
        assert run.complete
        found = [(item.kind, item.features) for item in listed]
        assert len(found) == len(set(found))
        assert {features for kind, features in found if kind == "abductive"} == case.abductive
        assert {features for kind, features in found if kind == "contrastive"} == case.contrastive
        assert {frozenset(members(mask)) for mask in run.abductive} == case.abductive
        for item in listed:
            assert set(item.witnesses) == item.features
            check_witnesses(case, item.witnesses, item.features if item.kind == "abductive" else ())
    asked = questions.calls
    at_once = smallest(questions)
    assert questions.calls == asked  # all is known
    for best in (at_once, smallest(case.questions())):
        assert best is not None
        assert best.smallest
        assert best.complete
        assert best.features in case.abductive
        assert len(best.features) == best.lower_bound == naive_explain.smallest(case.abductive)
        assert set(best.witnesses) == best.features
    in_all, in_some = naive_explain.necessary(case.abductive), naive_explain.relevant(case.abductive)
    for known in (case.questions(), questions):
        assert necessary(known) == {feature: feature in in_all for feature in case.everything}
        assert relevant(known) == {feature: feature in in_some for feature in case.everything}
    assert relevant(case.questions()) == {feature: feature in in_some for feature in case.everything}
    counts = [sum(feature in features for features in case.abductive) for feature in sorted(case.everything)]
    expected = tuple(having / len(case.abductive) for having in counts)
    shares = attribution(case.questions())
    assert shares.complete
    assert shares.share == shares.lower == shares.upper == expected
    part = attribution(case.questions(), limit=1)
    assert part.n_found == 1
    assert all(low <= x <= high for low, x, high in zip(part.lower, expected, part.upper, strict=True))


def check_inflated(case: Case) -> None:
    scores = case.scores
    features = sorted(case.abductive, key=sorted)[int(case.rng.integers(len(case.abductive)))]
    box = inflate(case.questions(), features, order=case.some())
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


def check_counterfactual(case: Case) -> None:
    scores, immutable = case.scores, case.some()
    others = [k for k in range(scores.n_classes) if k != case.label]
    some = case.rng.random() < 0.4 and not isinstance(case.questions().oracle, PaperOracle)
    targets = [int(case.rng.choice(others))] if some else None
    prices = random_prices(case.rng, scores, case.cells, forbidden=0.2)
    expected = naive_explain.least_distance(
        scores, case.cells, case.label, [price.tolist() for price in prices], targets, kept=immutable
    )
    found = cheapest(case.questions(targets=targets), prices, scores.box(case.cells, immutable))
    if expected is None or expected == np.inf:
        assert found.status == "none"
        return
    assert found.status == "optimal"
    assert found.distance == expected
    assert found.lower_bound == pytest.approx(expected, rel=1e-9)
    assert found.cells is not None
    assert sum(price[cell] for price, cell in zip(prices, found.cells, strict=True)) == expected
    sums = dict(naive_explain.space(scores))[tuple(found.cells.tolist())]
    assert naive_explain.gets(scores, sums, case.label, targets)


CHECKS = (
    *(check_abductive, check_keep_and_free, check_contrastive, check_targets),
    *(check_all, check_inflated, check_counterfactual),
)


@pytest.mark.parametrize("make", [SearchOracle, TryAll])
@pytest.mark.parametrize("check", CHECKS)
def test_explanations_are_those_of_brute_force(check: Callable[[Case], None], make: type) -> None:
    for case in cases(77 + CHECKS.index(check), 25, make):
        with about(case):
            check(case)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("part", range(4))
def test_explanations_of_1000_ensembles(check: Callable[[Case], None], part: int) -> None:
    for case in cases(1000 + part, 250, SearchOracle):
        with about(case):
            check(case)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_explanations_by_the_paper(check: Callable[[Case], None]) -> None:
    for case in cases(2000, 150, PaperOracle, ("majority",)):
        with about(case):
            check(case)


def test_a_row_in_doubt_has_nothing_but_all_features() -> None:
    """And nothing less suffices, so that each feature alone is a contrastive explanation."""
    rng = np.random.default_rng(9)
    seen = 0
    while seen < 16:
        scores = random_scores(rng, vote="soft", n_classes=2, margin=2, max_cells=100)
        cells = random_cells(rng, scores)
        label, everything = (
            scores.winner(cells),
            {f for f, c in enumerate(scores.features) if scores.n_thresholds[[*c]].any()},
        )
        if naive_explain.changes(scores, cells, label, range(scores.n_features)):
            seen += 1
            for make in (SearchOracle, TryAll):
                assert abductive(Questions(make(scores), cells, label)).features == everything
                found = contrastive(Questions(make(scores), cells, label))
                assert found is not None
                assert len(found.features) == 1
                run = Enumeration(Questions(make(scores), cells, label))
                assert {item.features for item in run if item.kind == "abductive"} == {frozenset(everything)}
                assert set(run.contrastive) == {1 << feature for feature in everything}


def test_the_running_example_of_the_paper() -> None:
    model, row = running_example(), (1, 0, 1, 0)
    assert naive_explain.predicted(model, row) == 1
    abductive, contrastive = naive_explain.abductive(model, row, 1), naive_explain.contrastive(model, row, 1)
    assert abductive == {frozenset({0, 2})}
    assert contrastive == {frozenset({0}), frozenset({2})}
    assert naive_explain.necessary(abductive) == naive_explain.relevant(abductive) == {0, 2}
    assert naive_explain.smallest(abductive) == 2
    assert naive_explain.fewest_changes(model, row, 1) == 1
    assert naive_explain.fewest_changes(model, row, 1, kept=[0, 2]) is None
    distance = [[5.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, 1.0]]
    assert naive_explain.least_distance(model, row, 1, distance) == 3.0


@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_brute_force_and_model_agree_and_the_two_kinds_are_dual(vote: Vote, n_classes: int) -> None:
    rng = np.random.default_rng([2021, VOTES.index(vote), n_classes])
    for _ in range(8):
        model = random_scores(rng, vote=vote, n_classes=n_classes, max_cells=100)
        cells = random_cells(rng, model)
        for row, sums in naive_explain.space(model):
            assert model.allows(np.array(row))
            assert tuple(model.sums(np.array(row))) == sums
            assert model.winner(np.array(row)) == naive_explain.predicted(model, row)
        label = model.winner(cells)
        abductive = naive_explain.abductive(model, cells, label)
        contrastive = naive_explain.contrastive(model, cells, label)
        assert all(one & other for one in abductive for other in contrastive)
        assert abductive
        assert naive_explain.relevant(abductive) == naive_explain.relevant(contrastive)
        fixed = random_fixed(rng, model)
        if len(fixed) < model.n_features or not model.margin:
            assert naive_explain.changes(model, cells, label, fixed) != any(a <= set(fixed) for a in abductive)
        fewest = naive_explain.fewest_changes(model, cells, label)
        assert fewest == naive_explain.smallest(contrastive) or (fewest == 0 and model.margin)
        box = [set(range(count + 1)) for count in model.n_thresholds.tolist()]
        assert naive_explain.changes_in_box(model, label, box) == naive_explain.changes(model, cells, label, [])
