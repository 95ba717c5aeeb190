"""Trees of boxes: those of the search pass, and what proves nothing is refused."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from proofwood.certificates.boxes import BoxTree
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.explain.proofs.boxes import BoxProver
from proofwood.explain.proofs.checked import CheckedOracle
from proofwood.model.node_table import IntArray
from tests.explain_oracles import AllRows
from tests.score_models import VOTES, Vote, needs_of, random_prices, random_scores, score_model, trees_of


def box_in(rng: np.random.Generator, scores: ScoreModel) -> tuple[IntArray, IntArray]:
    """A box of which many columns are limited."""
    ends = np.sort(rng.integers(0, scores.n_thresholds + 1, (2, scores.n_columns)), axis=0)
    free = rng.random(scores.n_columns) < 0.4
    low, high = np.where(free, 0, ends[0]), np.where(free, scores.n_thresholds, ends[1])
    return low.astype(np.int64), high.astype(np.int64)


def wins(scores: ScoreModel, low: IntArray, high: IntArray, k: int, losers: Sequence[int]) -> IntArray:
    """Rows of the box in which class k may come before these others, by a look at every row."""
    rows = AllRows(scores)
    return rows.rows[rows.inside(low, high) & rows.wins(k, losers)]


def best(scores: ScoreModel) -> int:
    """The largest sum of class 1 in any row."""
    return int(AllRows(scores).sums[:, 1].max())


def fault(scores: ScoreModel, part: Any, low: IntArray, high: IntArray, rivals: Sequence[int], **priced: Any) -> Any:
    """What the checker says; damage that it cannot read is a fault as well."""
    try:
        return BoxTree(trees_of(scores), part, low, high, rivals, **priced, plain=True).fault()
    except (ValueError, TypeError, IndexError, KeyError, ArithmeticError) as error:
        return f"damaged: {error}"


def proof(scores: ScoreModel, low: IntArray, high: IntArray, k: int, rivals: Sequence[int]) -> Any:
    """A tree of boxes that a class cannot come before its rivals; False if it can."""
    found = BoxProver(scores).never_first(low, high, [k], rivals)
    assert found is not None
    return found[0] if found else False


def deep_model(rng: np.random.Generator, n_trees: int = 8, n_columns: int = 4) -> ScoreModel:
    """Trees of all cells of two columns each, with random scores: bounds of single trees are far too high."""
    q = [3] * n_columns

    def leaf(cells: dict[int, int]) -> tuple[list[int], list[int]]:
        box = tuple((cells.get(c, 0), cells.get(c, 3)) for c in range(n_columns))
        return needs_of(box, q), [0, int(rng.integers(-50, 40))]

    pairs = [rng.choice(n_columns, 2, replace=False).tolist() for _ in range(n_trees)]
    return score_model(q, [[leaf({a: i, b: j}) for i in range(4) for j in range(4)] for a, b in pairs])


def with_base(scores: ScoreModel, *base: int) -> ScoreModel:
    return replace(scores, base=np.array(base))


def everywhere(scores: ScoreModel) -> tuple[IntArray, IntArray]:
    return np.zeros_like(scores.n_thresholds), scores.n_thresholds.copy()


def drawn(rng: np.random.Generator, most_classes: int = 4, votes: Sequence[Vote] = VOTES) -> ScoreModel:
    vote = votes[int(rng.integers(len(votes)))]
    return random_scores(rng, vote=vote, n_classes=int(rng.integers(2, most_classes + 1)), max_cells=100)


@pytest.mark.parametrize("vote", VOTES)
def test_boxes_are_found_exactly_where_no_row_has_the_class(vote: Vote) -> None:
    rng = np.random.default_rng(3)
    proved = refuted = 0
    for _ in range(100):
        scores = drawn(rng, votes=[vote])
        label, k = rng.choice(scores.n_classes, 2, replace=False).tolist()
        low, high = box_in(rng, scores)
        part = proof(scores, low, high, k, [label])
        assert (part is False) == bool(len(wins(scores, low, high, k, [label])))
        if part is False:
            refuted += 1
            continue
        proved += 1
        assert fault(scores, part, low, high, [label]) is None
    assert proved > 20
    assert refuted > 20


def test_trees_that_interact_need_messages_and_these_are_counted() -> None:
    """A message, a cell, a unit or a split changed: what is still accepted is true of every row."""
    rng = np.random.default_rng(8)
    refused = messages = parted = 0
    for _ in range(8):
        scores = deep_model(rng)
        low, high = everywhere(scores)
        top = best(scores)
        for gap in (1, 3, 10):
            near = with_base(scores, top + gap, 0)
            part = proof(near, low, high, 1, [0])
            assert part
            assert fault(near, part, low, high, [0]) is None
            parted += len(part["boxes"]) > 1
            for number, node in enumerate(part["boxes"]):
                if len(node) == 2:
                    continue
                for e in range(len(node[1])):
                    messages += 1
                    changed = deepcopy(part)
                    changed["boxes"][number][1][e][2][1] += int(rng.choice([-10, 10])) << 3
                    refused += fault(near, changed, low, high, [0]) is not None
            # The same boxes say nothing of a model whose best row does reach the class.
            for base in (top - 1, top - 2, top - 20):
                assert fault(with_base(scores, base, 0), part, low, high, [0]) is not None
    assert messages > 100
    assert parted > 6
    assert refused > messages / 2


def random_boxes(rng: np.random.Generator, scores: ScoreModel, splits: int, n_rivals: int) -> list[Any]:
    """Boxes with messages and weights of any sense."""
    column = int(rng.integers(scores.n_columns))
    if splits and scores.n_thresholds[column]:
        cut = int(rng.integers(-1, scores.n_thresholds[column] + 1))
        one = int(rng.integers(splits))
        first, second = (random_boxes(rng, scores, part, n_rivals) for part in (one, splits - 1 - one))
        return [[column, cut], *first, *second]
    edges = []
    for c, count in enumerate(scores.n_thresholds.tolist()):
        for t in range(scores.n_trees):
            if rng.random() < 0.3:
                cells = range(1, 1 + int(rng.integers(count + 1)))
                edges.append([t, c, [int(v) for cell in cells for v in (cell, rng.integers(-80, 80))]])
    shift = None if rng.random() < 0.3 else int(rng.integers(0, 4))
    return [[int(rng.integers(0, 3)), edges, rng.integers(0, 30, n_rivals).tolist(), shift]]


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p["boxes"].pop(),
        lambda p: p["boxes"].append([0, [], [1], None]),
        lambda p: p["boxes"].insert(0, [0, 1]),
        lambda p: p["boxes"].insert(0, [0, 1, 0]),
        lambda p: p["boxes"].clear(),
        lambda p: p.update(ways=[[False, [0]]]),
        lambda p: p["boxes"][-1].__setitem__(0, 10**9),
        lambda p: p["boxes"][-1].__setitem__(0, 0.5),
        lambda p: p["boxes"][-1][1].append([10**6, 0, [1, 5]]),
        lambda p: p["boxes"][-1][1].append([0, -1, [1, 5]]),
        lambda p: p["boxes"][-1][1].append([0, 0, [1]]),
        lambda p: p["boxes"][-1][1].append([0, 0, [2, 5, 1, 5]]),
        lambda p: p["boxes"][-1][1].append([0, 0, [1, 0.5]]),
        lambda p: p["boxes"][-1][1].append([0, 0, [1, 2**70]]),
        lambda p: p["boxes"][-1][1].append([True, 0, [1, 5]]),
    ],
)
def test_damaged_boxes_are_refused(change: Any) -> None:
    scores = deep_model(np.random.default_rng(3))
    scores = with_base(scores, best(scores) + 1, 0)
    low, high = everywhere(scores)
    part = proof(scores, low, high, 1, [0])
    assert part["boxes"][-1][1], "the last box has messages"
    assert fault(scores, part, low, high, [0]) is None
    change(part)
    assert fault(scores, part, low, high, [0]) is not None


def test_numbers_beyond_64_bits_are_counted_exactly() -> None:
    """Scores near 2^37 with weights near 2^25: sums of their products do not fit in a word."""
    scores = deep_model(np.random.default_rng(1))
    top = best(scores)
    large = with_base(replace(scores, scores=scores.scores << 30), (top + 2) << 30, 0)
    low, high = everywhere(scores)
    part = proof(with_base(scores, top + 1, 0), low, high, 1, [0])
    scaled = deepcopy(part)
    for node in scaled["boxes"]:
        if len(node) == 4:
            node[0] += 30
    assert fault(large, scaled, low, high, [0]) is None
    assert fault(with_base(large, (top << 30) - 1, 0), scaled, low, high, [0]) is not None


def test_the_checked_oracle_agrees_with_all_rows() -> None:
    rng = np.random.default_rng(6)
    seen = {True: 0, False: 0}
    for _ in range(100):
        scores = drawn(rng)
        label = int(rng.integers(scores.n_classes))
        others = [k for k in range(scores.n_classes) if k != label]
        targets = others if rng.random() < 0.5 else [int(rng.choice(others))]
        low, high = box_in(rng, scores)
        rows = AllRows(scores)
        expected = bool((rows.inside(low, high) & (rows.reached(label, targets) >= 0)).any())
        answer = CheckedOracle(scores, trees_of(scores)).ask_box(low, high, label, targets=targets)
        assert answer.changes is expected
        seen[expected] += 1
    assert min(seen.values()) > 20


def test_without_time_nothing_is_proved() -> None:
    scores = deep_model(np.random.default_rng(2))
    assert CheckedOracle(scores, trees_of(scores)).ask_box(*everywhere(scores), 0, seconds=0.0).changes is None


def test_features_without_columns_may_be_more_than_the_columns() -> None:
    """The numbers of features go beyond those of columns: a proof by one box leaves out features all the same."""
    scores = deep_model(np.random.default_rng(5))
    rows = AllRows(scores)
    worst = rows.sums[:, 1].argmin()
    cells = rows.rows[worst]
    spread = replace(scores, features=(*((),) * 50, *((c,) for c in range(4))))
    near = with_base(spread, rows.sums[worst, 1] + 1, 0)
    answer = SearchOracle(near, SearchOptions(clauses=False)).ask(cells, 0, range(54))
    assert answer.changes is False
    assert answer.core is not None
    assert answer.core <= frozenset(range(50, 54))
    assert not SearchOracle(near, SearchOptions(clauses=False)).ask(cells, 0, sorted(answer.core)).changes


# -------------------------------------------------------------------------------------------------- boxes by themselves


def whole_prices(rng: np.random.Generator, scores: ScoreModel, own: IntArray) -> list[IntArray]:
    prices = random_prices(rng, scores, own, units=(0, 1, 7, 1000))
    return [price.astype(np.int64) for price in prices]


def least_of(prices: Sequence[IntArray], rows: IntArray) -> int | None:
    return min((sum(int(p[c]) for p, c in zip(prices, row, strict=True)) for row in rows), default=None)


def test_boxes_prove_the_least_price_and_no_more() -> None:
    rng = np.random.default_rng(1)
    counts = {"never": 0, "first": 0, "least": 0, "parted": 0}
    for _ in range(120):
        deep = rng.random() < 0.3
        scores = deep_model(rng) if deep else drawn(rng)
        scores = with_base(scores, best(scores) - 20, 0) if deep else scores  # few rows have class 1
        low, high = everywhere(scores) if deep else box_in(rng, scores)
        k = int(rng.integers(scores.n_classes))
        rest = [c for c in range(scores.n_classes) if c != k]
        rivals = sorted(rng.choice(rest, int(rng.integers(1, len(rest) + 1)), replace=False).tolist())
        rows = wins(scores, low, high, k, rivals)
        prover = BoxProver(scores)
        part = proof(scores, low, high, k, rivals)
        assert (part is False) == bool(len(rows))
        counts["never" if part else "first"] += 1
        if part:
            assert fault(scores, part, low, high, rivals) is None
        own = np.array([rng.integers(a, b + 1) for a, b in zip(low, high, strict=True)])
        prices = whole_prices(rng, scores, own)
        least = least_of(prices, rows)
        bound = int(least if least and rng.random() < 0.7 else rng.integers(1, 5000))
        if not any(price.any() for price in prices):
            continue
        found = prover.not_below(low, high, [k], rivals, own=own, prices=prices, bound=bound)
        assert found is not None
        parts, proved = found
        assert proved == (bound if least is None else min(bound, least))
        if not proved:
            continue
        counts["parted"] += len(parts[0]["boxes"]) > 1
        told = {"own": own, "prices": prices}
        assert fault(scores, parts[0], low, high, rivals, **told, least=proved) is None
        if least is not None:
            counts["least"] += 1
            assert fault(scores, parts[0], low, high, rivals, **told, least=least + 1) is not None
    assert min(counts.values()) > 10, counts


def test_random_boxes_never_prove_what_is_false() -> None:
    rng = np.random.default_rng(5)
    tried = 0
    while tried < 150:
        scores = drawn(rng, 3)
        low, high = everywhere(scores)
        rivals = list(range(1, scores.n_classes))
        rows = wins(scores, low, high, 0, rivals)
        if not len(rows):
            continue
        tried += 1
        own = np.array([rng.integers(0, q + 1) for q in scores.n_thresholds])
        prices = whole_prices(rng, scores, own)
        least = least_of(prices, rows)
        assert least is not None
        boxes = random_boxes(rng, scores, int(rng.integers(0, 3)), len(rivals))
        part = {"against": 0, "rivals": rivals, "ways": [], "boxes": boxes}
        assert fault(scores, part, low, high, rivals, own=own, prices=prices, least=least + 1) is not None


@pytest.mark.parametrize(
    "node",
    [
        [0, [], [1]],
        [0, [], [1], 0, 0],
        [0, [], [-1], 0],
        [0, [], [1, 1], 0],
        [0, [], [1.0], 0],
        [0, [], [True], 0],
        [-1, [], [1], 0],
        [0, [], [1], 63],
        [0, [], [1], -1],
        [0, [], [1], 0.0],
        [63, [], [1], 0],
        [],
        [0],
    ],
)
def test_damaged_boxes_with_weights_are_refused(node: list[Any]) -> None:
    scores = score_model([1], [[([0], [0, 0]), ([1], [0, 0])]], base=[5, 0])
    low, high = np.array([0]), np.array([1])
    part = {"against": 1, "ways": [], "boxes": [[0, [], [1], 0]]}
    assert fault(scores, part, low, high, [0]) is None
    assert fault(scores, {**part, "boxes": [node]}, low, high, [0]) is not None


def test_messages_of_64_bits_do_not_wrap() -> None:
    """The change from one message to the next may have more bits than each of them."""
    scores = score_model([2], [[([0], [0, 1]), ([1], [0, 0])]])
    low, high = np.array([0]), np.array([2])
    most = 2**62 + 2**61
    for steps in ([1, most, 2, -most], [1, -most, 2, most], [1, 2**63 - 1, 2, -(2**63)]):
        part = {"against": 1, "ways": [], "boxes": [[0, [[0, 0, steps]], [1], 0]]}
        assert fault(scores, part, low, high, [0]) is not None
