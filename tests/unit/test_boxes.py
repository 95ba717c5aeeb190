"""Trees of boxes: those of the search pass, and what proves nothing is refused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from proofwood.certificates.boxes import BoxTree
from proofwood.certificates.rivals import RivalTree
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.oracle import about_box
from proofwood.explain.oracles.searches import SearchOptions, SearchOracle
from proofwood.explain.proofs.boxes import BoxProver
from proofwood.explain.proofs.checked import CheckedOracle
from proofwood.model.node_table import IntArray
from tests.explain_models import grid, random_model, score_model, trees_of


def box_in(rng: np.random.Generator, scores: ScoreModel) -> tuple[IntArray, IntArray]:
    """A box of which many columns are limited."""
    ends = np.sort(rng.integers(0, scores.n_thresholds + 1, (2, scores.n_columns)), axis=0)
    free = rng.random(scores.n_columns) < 0.4
    low, high = np.where(free, 0, ends[0]), np.where(free, scores.n_thresholds, ends[1])
    return low.astype(np.int64), high.astype(np.int64)


def can(scores: ScoreModel, rows: list[IntArray], low: IntArray, high: IntArray, label: int, k: int) -> bool:
    """Whether a row of the box may have class k before the label, by a look at every row."""
    least = scores.threshold_of_win(k, label)
    inside = [row for row in rows if np.all(low <= row) and np.all(row <= high)]
    return any(scores.sums(row)[k] - scores.sums(row)[label] >= least for row in inside)


def fault(scores: ScoreModel, part: Any, low: IntArray, high: IntArray, label: int) -> str | None:
    """What the checker says; damage that it cannot read is a fault as well."""
    try:
        return BoxTree(trees_of(scores), part, low, high, label).fault()
    except (ValueError, TypeError, IndexError, KeyError) as error:
        return f"damaged: {error}"


def deep_model(rng: np.random.Generator, n_trees: int = 8, n_columns: int = 4) -> ScoreModel:
    """Trees of all cells of two columns each, with random scores: bounds of single trees are far too high."""
    q = np.full(n_columns, 3, dtype=np.int64)
    needs, needs_of, scores, leaves_of = [], [0], [], [0]
    for _ in range(n_trees):
        a, b = rng.choice(n_columns, 2, replace=False)
        for i in range(4):
            for j in range(4):
                for c, cell in ((a, i), (b, j)):
                    needs += [2 * (3 * c + cell - 1)] if cell else []
                    needs += [2 * (3 * c + cell) + 1] if cell < 3 else []
                needs_of.append(len(needs))
                scores.append([0, int(rng.integers(-50, 40))])
        leaves_of.append(len(scores))
    return ScoreModel(
        q,
        tuple((c,) for c in range(n_columns)),
        np.array(leaves_of),
        np.array(scores, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.array(needs_of),
        np.array(needs),
    )


@pytest.mark.parametrize("majority", [True, False])
def test_boxes_are_found_exactly_where_no_row_has_the_class(majority: bool) -> None:
    rng = np.random.default_rng(3 + majority)
    proved = refuted = 0
    for _ in range(150):
        scores = random_model(rng, int(rng.integers(2, 5)), majority=majority)
        rows = grid(scores)
        label, k = rng.choice(scores.n_classes, 2, replace=False).tolist()
        low, high = box_in(rng, scores)
        part = BoxProver(scores).against(low, high, label, k)
        assert part is not None
        assert (part is False) == can(scores, rows, low, high, label, k)
        if part is False:
            refuted += 1
            continue
        proved += 1
        assert fault(scores, part, low, high, label) is None
    assert proved > 30
    assert refuted > 30


def test_trees_that_interact_need_messages_and_these_are_counted() -> None:
    """A message, a cell, a unit or a split changed: what is still accepted is true of every row."""
    rng = np.random.default_rng(8)
    refused = messages = parted = 0
    for _ in range(40):
        scores = deep_model(rng)
        rows = grid(scores)
        low, high = np.zeros(4, dtype=np.int64), scores.n_thresholds.copy()
        top = max(int(scores.sums(row)[1]) for row in rows)
        for gap in (1, 3, 10):
            near = ScoreModel(**{**vars_of(scores), "base": np.array([top + gap, 0])})
            part = BoxProver(near).against(low, high, 0, 1)
            assert part
            assert fault(near, part, low, high, 0) is None
            parted += len(part["boxes"]) > 1
            for number, node in enumerate(part["boxes"]):
                if isinstance(node[1], int):
                    continue
                for e in range(len(node[1])):
                    messages += 1
                    changed = deepcopy(part)
                    changed["boxes"][number][1][e][2][1] += int(rng.choice([-10, 10])) << 3
                    refused += fault(near, changed, low, high, 0) is not None
            # The same boxes say nothing of a model whose best row does reach the class.
            for base in (top - 1, top - 2, top - 20):
                wrong = ScoreModel(**{**vars_of(scores), "base": np.array([base, 0])})
                assert fault(wrong, part, low, high, 0) is not None
    assert messages > 100
    assert parted > 30
    assert refused > messages / 2


def vars_of(scores: ScoreModel) -> dict[str, Any]:
    return {name: getattr(scores, name) for name in scores.__dataclass_fields__}


def test_random_messages_and_splits_never_prove_what_is_false() -> None:
    """The checker adds up what it is given: where a row has the class, no tree of boxes passes."""
    rng = np.random.default_rng(4)
    tried = 0
    while tried < 400:
        scores = random_model(rng, 2)
        rows = grid(scores)
        low, high = box_in(rng, scores)
        if not rows or not can(scores, rows, low, high, 0, 1):
            continue
        tried += 1
        part = {"against": 1, "ways": [], "boxes": random_boxes(rng, scores, int(rng.integers(0, 4)))}
        assert fault(scores, part, low, high, 0) is not None


def random_boxes(rng: np.random.Generator, scores: ScoreModel, splits: int) -> list[Any]:
    column = int(rng.integers(scores.n_columns))
    if splits and scores.n_thresholds[column]:
        cut = int(rng.integers(-1, scores.n_thresholds[column] + 1))
        one = int(rng.integers(splits))
        first, second = random_boxes(rng, scores, one), random_boxes(rng, scores, splits - 1 - one)
        return [[column, cut, int(rng.integers(2))], *first, *second]
    edges = []
    for _ in range(int(rng.integers(5))):
        c = int(rng.integers(scores.n_columns))
        cells = sorted(
            rng.choice(
                np.arange(1, scores.n_thresholds[c] + 1),
                int(rng.integers(0, scores.n_thresholds[c] + 1)),
                replace=False,
            ).tolist()
        )
        steps = [v for cell in cells for v in (int(cell), int(rng.integers(-99, 99)))]
        edges.append([int(rng.integers(scores.n_trees)), c, steps])
    return [[int(rng.integers(-3, 3)), edges]]


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p["boxes"].pop(),
        lambda p: p["boxes"].append([0, []]),
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
    scores = deep_model(np.random.default_rng(0))
    top = max(int(scores.sums(row)[1]) for row in grid(scores))
    scores = ScoreModel(**{**vars_of(scores), "base": np.array([top + 1, 0])})
    low, high = np.zeros(4, dtype=np.int64), scores.n_thresholds.copy()
    part: Any = BoxProver(scores).against(low, high, 0, 1)
    assert part["boxes"][-1][1], "the last box has messages"
    assert fault(scores, part, low, high, 0) is None
    change(part)
    assert fault(scores, part, low, high, 0) is not None


def test_numbers_beyond_64_bits_are_counted_exactly() -> None:
    """Scores near 2^61: sums of them do not fit in a word."""
    scores = deep_model(np.random.default_rng(1))
    top = max(int(scores.sums(row)[1]) for row in grid(scores))
    large = ScoreModel(**{**vars_of(scores), "scores": scores.scores << 54, "base": np.array([(top + 2) << 54, 0])})
    low, high = np.zeros(4, dtype=np.int64), scores.n_thresholds.copy()
    small = ScoreModel(**{**vars_of(scores), "base": np.array([top + 1, 0])})
    part: Any = BoxProver(small).against(low, high, 0, 1)
    scaled = deepcopy(part)
    for node in scaled["boxes"]:
        if not isinstance(node[1], int):
            node[0] += 54
    assert fault(large, scaled, low, high, 0) is None
    wrong = ScoreModel(**{**vars_of(large), "base": np.array([(top << 54) - 1, 0])})
    assert fault(wrong, scaled, low, high, 0) is not None


def test_the_checked_oracle_agrees_with_all_rows() -> None:
    rng = np.random.default_rng(6)
    seen = {True: 0, False: 0}
    for _ in range(120):
        scores = random_model(rng, int(rng.integers(2, 5)))
        rows = grid(scores)
        label = int(rng.integers(scores.n_classes))
        others = [k for k in range(scores.n_classes) if k != label]
        targets = others if rng.random() < 0.5 else [int(rng.choice(others))]
        low, high = box_in(rng, scores)
        asked = about_box(scores, low, high, label, targets)
        expected = any(np.all(low <= row) and np.all(row <= high) and asked.reached(scores, row) for row in rows)
        answer = CheckedOracle(scores, trees_of(scores)).ask_box(low, high, label, targets=targets)
        assert answer.changes is expected
        seen[expected] += 1
    assert min(seen.values()) > 20


def test_without_time_nothing_is_proved() -> None:
    scores = deep_model(np.random.default_rng(2))
    low, high = np.zeros(4, dtype=np.int64), scores.n_thresholds.copy()
    assert CheckedOracle(scores, trees_of(scores)).ask_box(low, high, 0, seconds=0.0).changes is None


def test_features_without_columns_may_be_more_than_the_columns() -> None:
    """The numbers of features go beyond those of columns: a proof by one box leaves out features all the same."""
    scores = deep_model(np.random.default_rng(5))
    spread = ScoreModel(**{**vars_of(scores), "features": (*((),) * 50, *((c,) for c in range(4)))})
    rows = grid(scores)
    cells = min(rows, key=lambda row: int(scores.sums(row)[1]))
    top = int(scores.sums(cells)[1])
    near = ScoreModel(**{**vars_of(spread), "base": np.array([top + 1, 0])})
    answer = SearchOracle(near, SearchOptions(clauses=False)).ask(cells, 0, range(54))
    assert answer.changes is False
    assert answer.core is not None
    assert answer.core <= frozenset(range(50, 54))
    assert not SearchOracle(near, SearchOptions(clauses=False)).ask(cells, 0, sorted(answer.core)).changes


# -------------------------------------------------------------------------------------------------- boxes by themselves


def rivals_fault(*args: Any, **options: Any) -> str | None:
    """What the checker says; damage that it cannot read is a fault as well."""
    try:
        return RivalTree(*args, **options, plain=True).fault()
    except (ValueError, TypeError, IndexError, KeyError, ArithmeticError) as error:
        return f"damaged: {error}"


def random_prices(rng: np.random.Generator, own: Any, n_thresholds: Any) -> list[Any]:
    prices = []
    for at, q in zip(own, n_thresholds, strict=True):
        price, unit = np.zeros(q + 1, dtype=np.int64), int(rng.choice([0, 1, 7, 1000]))
        for cell in range(at + 1, q + 1):
            price[cell] = price[cell - 1] + unit * rng.integers(0, 4)
        for cell in range(at - 1, -1, -1):
            price[cell] = price[cell + 1] + unit * rng.integers(0, 4)
        prices.append(price)
    return prices


def test_boxes_prove_the_least_price_and_no_more() -> None:
    rng = np.random.default_rng(1)
    counts = {"never": 0, "first": 0, "least": 0, "parted": 0}
    for _ in range(150):
        scores = deep_model(rng) if rng.random() < 0.4 else random_model(rng, int(rng.integers(2, 5)), majority=False)
        low, high = box_in(rng, scores)
        k = int(rng.integers(scores.n_classes))
        rest = [c for c in range(scores.n_classes) if c != k]
        rivals = sorted(rng.choice(rest, int(rng.integers(1, len(rest) + 1)), replace=False).tolist())
        wins = [
            r
            for r in grid(scores)
            if (low <= r).all()
            and (r <= high).all()
            and all(scores.sums(r)[k] - scores.sums(r)[o] >= scores.threshold_of_win(k, o) for o in rivals)
        ]
        prover, trees = BoxProver(scores), trees_of(scores)
        part = prover.never_first(low, high, k, rivals)
        assert (part is False) == bool(wins)
        counts["never" if part else "first"] += 1
        if part:
            assert rivals_fault(trees, part, low, high, rivals) is None
        own = np.array([rng.integers(a, b + 1) for a, b in zip(low, high, strict=True)])
        prices = random_prices(rng, own, scores.n_thresholds)
        least = min((sum(int(p[c]) for p, c in zip(prices, r, strict=True)) for r in wins), default=None)
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
        assert rivals_fault(trees, parts[0], low, high, rivals, **told, least=proved) is None
        if least is not None:
            counts["least"] += 1
            assert rivals_fault(trees, parts[0], low, high, rivals, **told, least=least + 1) is not None
    assert min(counts.values()) > 10, counts


def test_random_boxes_never_prove_what_is_false() -> None:
    rng = np.random.default_rng(5)
    tried = 0
    while tried < 300:
        scores = random_model(rng, int(rng.integers(2, 4)), majority=False)
        low, high = np.zeros_like(scores.n_thresholds), scores.n_thresholds.copy()
        rivals = list(range(1, scores.n_classes))
        wins = [
            r
            for r in grid(scores)
            if all(scores.sums(r)[0] - scores.sums(r)[o] >= scores.threshold_of_win(0, o) for o in rivals)
        ]
        if not wins:
            continue
        tried += 1
        own = np.array([rng.integers(0, q + 1) for q in scores.n_thresholds])
        prices = random_prices(rng, own, scores.n_thresholds)
        least = min(sum(int(p[c]) for p, c in zip(prices, r, strict=True)) for r in wins)
        boxes = random_closed(rng, scores, len(rivals), int(rng.integers(0, 3)))
        part = {"against": 0, "rivals": rivals, "ways": [], "boxes": boxes}
        trees = trees_of(scores)
        assert rivals_fault(trees, part, low, high, rivals, own=own, prices=prices, least=least + 1) is not None


def random_closed(rng: np.random.Generator, scores: Any, n_rivals: int, splits: int) -> list[Any]:
    column = int(rng.integers(scores.n_columns))
    if splits and scores.n_thresholds[column]:
        cut = int(rng.integers(0, scores.n_thresholds[column]))
        parts = [random_closed(rng, scores, n_rivals, splits - 1) for _ in range(2)]
        return [[column, cut, 0], *parts[0], *parts[1]]
    edges = []
    for c in range(scores.n_columns):
        for t in range(scores.n_trees):
            if rng.random() < 0.3:
                cells = range(1, int(scores.n_thresholds[c]) + 1)
                edges.append([t, c, [int(v) for cell in cells for v in (cell, rng.integers(-60, 60))]])
    shift = None if rng.random() < 0.3 else int(rng.integers(0, 4))
    return [[int(rng.integers(0, 3)), edges, rng.integers(0, 30, n_rivals).tolist(), shift]]


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
    trees = trees_of(scores)
    part = {"against": 1, "ways": [], "boxes": [[0, [], [1], 0]]}
    assert rivals_fault(trees, part, low, high, [0]) is None
    assert rivals_fault(trees, {**part, "boxes": [node]}, low, high, [0]) is not None


def test_messages_of_64_bits_do_not_wrap() -> None:
    """The change from one message to the next may have more bits than each of them."""
    scores = score_model([2], [[([0], [0, 1]), ([1], [0, 0])]])
    low, high = np.array([0]), np.array([2])
    trees = trees_of(scores)
    most = 2**62 + 2**61
    for steps in ([1, most, 2, -most], [1, -most, 2, most], [1, 2**63 - 1, 2, -(2**63)]):
        assert BoxTree(trees, {"against": 1, "ways": [], "boxes": [[0, [[0, 0, steps]]]]}, low, high, 0).fault()
        part = {"against": 1, "ways": [], "boxes": [[0, [[0, 0, steps]], [1], 0]]}
        assert rivals_fault(trees, part, low, high, [0]) is not None
