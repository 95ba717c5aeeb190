"""Hyperplanes, oblique diagrams and their bounds, against enumeration in the plane."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from proofwood import _native
from proofwood.engines.diagram.oblique import bounds
from proofwood.engines.diagram.oblique.bounds import least_cost, lower_bounds
from proofwood.engines.diagram.oblique.cuts import MARGIN, best_cuts, entropy, gain_cuts, lengths, sizes
from proofwood.engines.diagram.oblique.draft import Draft
from proofwood.engines.diagram.oblique.exact import integers, sides
from proofwood.engines.diagram.oblique.heuristic import as_oblique, construct_oblique, holds_margins, improve_oblique
from proofwood.engines.diagram.oblique.hitting import Conflicts
from proofwood.engines.diagram.oblique.hyperplane import best_hyperplane
from proofwood.engines.diagram.oblique.margin import hull_distance, separate, sparse_separation
from proofwood.engines.diagram.shape import Diagram, count
from proofwood.engines.diagram.solve import solve
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.papers.odd.solve import solve as as_printed
from proofwood.problem.diagram import DiagramCost, DiagramProblem, Norm, Rate
from proofwood.problem.ranked import RankedRows
from proofwood.result import Limits, Result, Status
from tests.naive_oblique import fewest_errors, least_loss, separations

NORMS: tuple[Norm, ...] = ("box", "l1")


def _grid(rng: np.random.Generator, n: int, n_classes: int = 2) -> tuple[FloatArray, IntArray]:
    """Points of a coarse grid: what a line parts at all it parts by more than the margin."""
    points = rng.integers(0, 11, size=(n, 2)) / 10
    codes = rng.integers(n_classes, size=n)
    codes[:n_classes] = range(n_classes)
    return points, codes


def _problem(
    columns: FloatArray, codes: IntArray, widths: tuple[int, ...] = (1, 2, 4), alpha: float = 0.1, **given: object
) -> DiagramProblem:
    rows = RankedRows.with_tests(columns, (), codes, n_classes=int(codes.max()) + 1)[1]
    cost = DiagramCost.of(alpha=alpha, total=rows.total, widths=widths)
    return DiagramProblem(rows, widths, cost, columns=columns, **given)  # type: ignore[arg-type]


def _clouds(rng: np.random.Generator, n: int, d: int, n_classes: int) -> tuple[FloatArray, IntArray]:
    codes = np.arange(n) % n_classes
    columns = rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(n_classes, d))[codes]
    columns = (columns - columns.min(axis=0)) / np.ptp(columns, axis=0)
    return columns, codes


# -------------------------------------------------------------------- one dimension


def test_a_step_is_the_best_of_all_breakpoints() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        height, slope = rng.normal(size=n), rng.normal(size=n) * (rng.random(n) < 0.8)
        extra = rng.integers(-4, 5, size=n)
        breaks = np.sort(-height[slope != 0] / slope[slope != 0])
        middles = [*(breaks[:-1] + np.diff(breaks) / 2)]
        steps = [breaks[0] - 1, *middles, breaks[-1] + 1] if breaks.size else [0.0]
        losses = [int(extra[height + t * slope > 0].sum()) for t in steps]
        loss, step = _native.hyperplane_step(height, slope, extra, int(rng.integers(1000)))
        assert loss == min(losses)
        assert int(extra[height + step * slope > 0].sum()) == loss


@pytest.mark.parametrize("norm", NORMS)
def test_the_best_cut_is_the_best_of_all_cuts(norm: Norm) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = int(rng.integers(2, 10))
        sums, extra = rng.integers(0, 6, size=(n, 3)) / 5, rng.integers(-4, 5, size=n)
        cuts = best_cuts(sums, extra, np.ones(3), norm=norm)
        for at in range(3):
            values = np.unique(sums[:, at])
            offsets = values[:-1] + np.diff(values) / 2
            if offsets.size == 0:
                assert cuts.loss[at] > 10**9
                continue
            losses = [int(extra[sums[:, at] > t].sum()) for t in offsets] + [
                int(extra[sums[:, at] < t].sum()) for t in offsets
            ]
            assert cuts.loss[at] == min(losses)
            high = (sums[:, at] < cuts.offset[at]) if cuts.flipped[at] else (sums[:, at] > cuts.offset[at])
            assert int(extra[high].sum()) == cuts.loss[at]


def test_gain_is_that_of_the_two_sides() -> None:
    sums = np.array([[0.0], [0.2], [0.4], [0.4], [1.0]])
    weights = np.eye(2)[[0, 0, 1, 1, 0]]
    gain, offset = gain_cuts(sums, weights, np.ones(1), norm="l1")
    sides = entropy(weights[:2].sum(axis=0)) + entropy(weights[2:].sum(axis=0))
    assert gain[0] == pytest.approx(float(entropy(weights.sum(axis=0)) - sides))
    assert offset[0] == pytest.approx(0.3)


# -------------------------------------------------------------------- one hyperplane


@pytest.mark.parametrize("norm", NORMS)
def test_separation_agrees_with_enumeration(norm: Norm) -> None:
    rng = np.random.default_rng(2)
    for _ in range(3):
        points, _ = _grid(rng, 6)
        told = separations(points)
        for high in chain.from_iterable(combinations(range(6), size) for size in range(1, 6)):
            low = [point for point in range(6) if point not in high]
            found = separate(points[low], points[list(high)], norm=norm)
            assert found is not None
            parted = frozenset(high) in told
            assert (found.gap >= MARGIN) == parted
            assert (found.ceiling < MARGIN) == (not parted)
            if parted:
                ends = points[low] @ found.normal, points[list(high)] @ found.normal
                size = sizes(lengths(found.normal, norm), ends[0].max(), ends[1].min(), norm)
                assert float(size) == pytest.approx(1.0)
            else:  # the certificate stands by itself: hulls of the named rows meet
                again = separate(points[low][found.low], points[list(high)][found.high], norm=norm)
                assert again is not None
                assert again.ceiling < MARGIN


def test_hull_distance_bounds_every_gap() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        low, high = rng.random((5, 3)), rng.random((4, 3)) * rng.random()
        shares = rng.random(5), rng.random(4) * rng.integers(1, 4)
        normals = rng.normal(size=(200, 3))
        least, most = (high @ normals.T).min(axis=0), (low @ normals.T).max(axis=0)
        for norm in NORMS:
            bound = hull_distance(low, high, *shares, norm=norm)
            assert ((least - most) / sizes(lengths(normals, norm), most, least, norm)).max() <= bound


def test_sizes_are_what_the_offsets_of_the_paper_permit() -> None:
    """Some scale of a hyperplane, either way round, has coefficients and an offset in [-1, 1] that part the rows."""
    rng = np.random.default_rng(11)
    scales = np.geomspace(1e-3, 10, 4001)
    for _ in range(300):
        normal = rng.normal(size=3) * rng.choice([0.2, 1.0, 3.0])
        low, high = np.sort(rng.normal(size=2) * rng.choice([0.5, 2.0, 20.0]))
        margin = float(rng.choice([1e-2, 0.1, 0.5]))
        size = float(sizes(lengths(normal, "box"), low, high, "box"))
        inside = scales * np.abs(normal).max() <= 1
        ways = [(low, high), (-high, -low)]
        parted = any(
            (inside & (np.maximum(s * a + margin, -1) <= np.minimum(s * b, 1))).any() for s in [scales] for a, b in ways
        )
        if abs((high - low) / size / margin - 1) > 0.01:  # the scales that are tried are a grid
            assert parted == ((high - low) / size >= margin)


def _parted_as_printed(low: FloatArray, high: FloatArray, norm: Norm) -> bool:
    """Whether eqs. 13 and 14 have a solution, one way round or the other: an LP of its own, in its own variables."""
    d = low.shape[1]
    for first, second in ((low, high), (high, low)):
        sides = np.vstack(
            [
                np.column_stack([first, -first, np.full(len(first), -1.0)]),
                np.column_stack([-second, second, np.full(len(second), 1.0)]),
                np.append(np.ones(2 * d), 0.0) if norm == "l1" else np.empty((0, 2 * d + 1)),
            ]
        )
        limits = np.concatenate([np.full(len(first), -MARGIN), np.zeros(len(second)), [1.0] if norm == "l1" else []])
        answer = linprog(np.zeros(2 * d + 1), A_ub=sides, b_ub=limits, bounds=[(0, 1)] * (2 * d) + [(-1, 1)])
        if answer.status == 0:
            return True
    return False


@pytest.mark.parametrize("norm", NORMS)
def test_rows_are_parted_iff_the_printed_program_parts_them(norm: Norm) -> None:
    rng = np.random.default_rng(7)
    seen = []
    for _ in range(200):
        d, n = int(rng.integers(1, 5)), int(rng.integers(2, 7))
        normal = rng.normal(size=d)
        points = rng.random((n, d)) * 0.7 + 0.15
        high = np.arange(n) % 2 == 1
        heights = np.where(high, 1, -1) * MARGIN * rng.uniform(0.2, 1.1) * (1 + rng.random(n) * (rng.random() < 0.5))
        points += np.outer(heights - (points - points[0]) @ normal, normal / (normal @ normal))
        if points.min() < 0 or points.max() > 1:
            continue
        found = separate(points[~high], points[high], norm=norm)
        assert found is not None
        if abs(found.gap / MARGIN - 1) < 0.005:  # solvers have tolerances
            continue
        parted = _parted_as_printed(points[~high], points[high], norm)
        assert parted == (found.gap >= MARGIN)
        assert parted or found.ceiling < MARGIN
        seen.append(parted)
    assert 20 < sum(seen) < len(seen) - 20


@pytest.mark.parametrize("by", [solve, as_printed])
def test_the_box_of_the_paper_parts_rows_that_absolute_sums_do_not(by: Callable[..., Result]) -> None:
    columns = np.array([[0.0, 0.0], [0.2, 0.3], [0.3, 0.2], [0.25007, 0.25007], [1.0, 1.0]])
    codes = np.array([0, 0, 0, 1, 1])
    for norm, errors in (("box", 0), ("l1", 1)):
        problem = _problem(columns, codes, (1,), norm=norm)
        result = by(problem, limits=Limits(20), random_state=0)
        assert result.objective == errors / 5
        assert result.status is Status.OPTIMAL or by is as_printed


def test_coefficients_that_are_not_needed_are_dropped() -> None:
    rng = np.random.default_rng(4)
    columns = rng.random((40, 5))
    columns[:, 2] = np.where(np.arange(40) < 20, 0.2, 0.8) + 0.1 * rng.random(40)
    found = sparse_separation(columns[:20], columns[20:], margin=MARGIN, norm="l1")
    assert found is not None
    assert np.flatnonzero(found.normal).tolist() == [2]


def test_hyperplanes_are_best_in_the_plane() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        points, _ = _grid(rng, int(rng.integers(2, 9)))
        low, high = rng.integers(0, 5, size=(2, len(points)))
        plane = best_hyperplane(points, low, high, norm="box", rng=rng, rounds=30)
        assert plane.loss == least_loss(points, low, high)
        assert int(np.where(plane.high(points), high, low).sum()) == plane.loss


@pytest.mark.parametrize("seed", range(4))
def test_hyperplanes_beat_single_columns_and_keep_the_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, codes = _clouds(rng, 80, 6, 2)
    wrong = codes ^ (rng.random(80) < 0.1)
    low, high = np.where(wrong == 0, 0, 3), np.where(wrong == 1, 0, 2)
    norm = NORMS[seed % 2]
    single = int(low.sum()) + int(best_cuts(columns, high - low, np.ones(6), norm=norm).loss.min())
    plane = best_hyperplane(columns, low, high, norm=norm, rng=rng)
    assert plane.loss < single
    sums, above = columns @ plane.normal, plane.high(columns)
    size = sizes(lengths(plane.normal, norm), sums[~above].max(), sums[above].min(), norm)
    assert np.abs(sums - plane.offset).min() >= MARGIN / 2 * size * (1 - 1e-9)
    assert int(np.where(plane.high(columns), high, low).sum()) == plane.loss


def test_rows_of_one_place_are_not_parted() -> None:
    columns = np.zeros((4, 2))
    zero, one = np.array([0, 0, 1, 1]), np.array([2, 2, 0, 0])
    plane = best_hyperplane(columns, zero, one, norm="box", rng=np.random.default_rng(0))
    assert plane.loss == 2
    assert not plane.high(columns).any()


# -------------------------------------------------------------------- diagrams


def _checked(problem: DiagramProblem, diagram: Diagram) -> int:
    """Cost, after a recount; coefficients are within the norm, and hyperplanes hold the margin."""
    counted = count(problem, diagram)
    assert counted.broken == ""
    assert holds_margins(problem, diagram)
    if diagram.normals is not None:
        assert lengths(diagram.normals, problem.norm).max() <= 1 + 1e-9
        assert diagram.offsets is not None
        assert problem.norm == "box" or np.abs(diagram.offsets).max() <= 1
    return counted.cost


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tree": True},
        {"max_splits": 3},
        {"min_weight": 12},
        {"widths": (1, 2, 2, 2)},
        {"tree": True, "min_weight": 9, "max_splits": 4, "alpha": 0.0},
    ],
    ids=str,
)
def test_construction_and_improvement_stay_within_the_problem(given: dict[str, object]) -> None:
    columns, codes = _clouds(np.random.default_rng(6), 40, 3, 4)
    problem = _problem(columns, codes, **given)  # type: ignore[arg-type]
    built = construct_oblique(problem, random_state=1, seconds=None, n_starts=3)
    better = improve_oblique(problem, built, random_state=1, seconds=None, rounds=2)
    assert _checked(problem, better) <= _checked(problem, built)
    again = improve_oblique(problem, built, random_state=1, seconds=None, rounds=2)
    assert again.low == better.low
    assert np.array_equal(again.normals, better.normals)  # type: ignore[arg-type]


def test_improvement_obeys_fairness() -> None:
    rng = np.random.default_rng(7)
    columns, codes = _clouds(rng, 40, 3, 2)
    group = columns[:, 0] > 0.5
    people = np.ones(40, dtype=np.int64)
    rates = tuple(Rate(left, ~left, people, 1, Fraction(4, 5), "parity") for left in (group, ~group))
    problem = _problem(columns, codes, rates=rates)
    built = construct_oblique(problem, random_state=0, seconds=None, n_starts=6)
    better = improve_oblique(problem, built, random_state=0, seconds=None, rounds=4)
    assert _checked(problem, better) <= _checked(problem, built)


def test_improvement_follows_costs() -> None:
    columns, codes = _clouds(np.random.default_rng(8), 40, 2, 2)
    problem = _problem(columns, codes)
    costs = np.column_stack([np.full(40, 9), np.zeros(40, dtype=np.int64)])
    diagram = improve_oblique(problem, Diagram.leaf(0), random_state=0, seconds=None, rounds=2, costs=costs)
    assert set(diagram.visits(problem)[1].tolist()) == {1}
    with pytest.raises(ValueError, match="costs have shape"):
        improve_oblique(problem, Diagram.leaf(0), seconds=1.0, costs=costs[:3])


def test_a_univariate_diagram_keeps_its_sides() -> None:
    columns, codes = _clouds(np.random.default_rng(9), 50, 3, 3)
    problem = _problem(columns, codes, widths=(1, 2))
    diagram = Diagram((0, 1, 1), (1, ~0, ~2), (2, ~1, ~0), test=(20, 3, 110))
    turned = as_oblique(problem, diagram)
    assert np.array_equal(diagram.visits(problem)[1], turned.visits(problem)[1])
    start = construct_oblique(problem, seconds=None, n_starts=1, start=diagram)
    better = improve_oblique(problem, turned, seconds=None, rounds=2)
    assert max(count(problem, start).cost, count(problem, better).cost) <= count(problem, turned).cost


def test_bad_arguments_are_refused() -> None:
    columns, codes = _clouds(np.random.default_rng(10), 20, 2, 2)
    problem = _problem(columns, codes)
    univariate = DiagramProblem(problem.rows, problem.widths, problem.cost)
    for refused in (
        lambda: construct_oblique(univariate, seconds=1.0),
        lambda: lower_bounds(univariate, seconds=1.0),
        lambda: as_oblique(univariate, Diagram.leaf(0)),
    ):
        with pytest.raises(ValueError, match="univariate"):
            refused()
    with pytest.raises(ValueError, match="would never end"):
        construct_oblique(problem, seconds=None)
    with pytest.raises(ValueError, match="would never end"):
        improve_oblique(problem, Diagram.leaf(0), seconds=None)
    with pytest.raises(ValueError, match="as_oblique"):
        improve_oblique(problem, Diagram((0,), (~0,), (~1,), test=(0,)), seconds=1.0)


# -------------------------------------------------------------------- bounds


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_bounds_hold_against_enumeration(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    for _ in range(10):
        points, codes = _grid(rng, int(rng.integers(n_classes + 1, 8)), n_classes)
        problem = _problem(points, codes, widths=(1, 2))
        bounds = lower_bounds(problem, seconds=None)
        exact = fewest_errors(points, codes, 3)
        assert len(bounds) == 4
        assert all(bound <= errors for bound, errors in zip(bounds, exact, strict=True))
        assert bounds[:2] == exact[:2]
        if n_classes == 3 and bounds[2] < bounds[1]:
            built = improve_oblique(
                problem, construct_oblique(problem, seconds=None, n_starts=3), seconds=None, rounds=3
            )
            assert _checked(problem, built) >= least_cost(problem, bounds)


def test_exact_bounds_come_with_their_diagrams() -> None:
    rng = np.random.default_rng(12)
    codes = np.arange(48) % 3
    columns = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]])[codes] + rng.uniform(-0.2, 0.2, size=(48, 2))
    codes[:2] = codes[1::-1]  # two rows of the wrong class
    problem = _problem(columns, codes, alpha=1.0)
    told: list[Diagram] = []
    bounds = lower_bounds(problem, seconds=None, on_diagram=told.append)
    costs = {diagram.n_splits: _checked(problem, diagram) for diagram in told}
    assert costs[2] == problem.cost.of_diagram(bounds[2], 2)


def test_the_diagrams_of_bounds_have_their_coefficients_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    columns = rng.random((60, 20))
    problem = _problem(columns, (columns[:, :12].sum(axis=1) > 6).astype(int), alpha=0.0)
    whole = Clock(Limits(seconds=1e6))
    told: list[Diagram] = []
    lower_bounds(problem, seconds=None, on_diagram=told.append, whole=whole)

    class Late(Draft):
        def diagram(self, *, clock: Clock = ENDLESS) -> Diagram:
            object.__setattr__(whole, "started", whole.started - 1e6)  # the time is over
            return super().diagram(clock=clock)

    monkeypatch.setattr(bounds, "Draft", Late)
    lower_bounds(problem, seconds=None, on_diagram=told.append, whole=whole)
    assert [_checked(problem, diagram) for diagram in told] == [0, 0]
    few, all_of_them = (np.count_nonzero(diagram.normals) for diagram in told)
    assert few < all_of_them


def test_a_known_diagram_spares_work_but_not_truth() -> None:
    columns, codes = _clouds(np.random.default_rng(11), 40, 2, 3)
    problem = _problem(columns, codes, alpha=0.5)
    diagram = improve_oblique(problem, construct_oblique(problem, seconds=None, n_starts=3), seconds=None, rounds=5)
    upper = _checked(problem, diagram)
    assert least_cost(problem, lower_bounds(problem, seconds=5.0, upper=upper)) <= upper


@pytest.mark.parametrize(
    ("name", "alpha", "share"), [("iris", 1.0, 0.0848), ("iris", 0.2, 0.0276), ("seeds", 1.0, 0.0714)]
)
def test_published_optima_are_reached_and_proved(
    load_data: Callable[[str], tuple[FloatArray, IntArray]], name: str, alpha: float, share: float
) -> None:
    values, codes = load_data(f"uci/{name}")
    columns = (values - values.min(axis=0)) / np.ptp(values, axis=0)
    order = list(range(len(columns)))
    random.Random(0).shuffle(order)
    half = order[: round(len(order) / 2)]
    problem = _problem(np.ascontiguousarray(columns[half]), codes[half] - codes.min(), (1, 2, 4, 8), alpha)
    built = construct_oblique(problem, random_state=0, seconds=None, n_starts=6)
    diagram = improve_oblique(problem, built, random_state=0, seconds=None, rounds=3)
    cost = _checked(problem, diagram)
    assert round(problem.cost.share(cost), 4) == share
    assert least_cost(problem, lower_bounds(problem, seconds=20.0)) == cost


# -------------------------------------------------------------------- what is proved without a solver's word


def test_hitting_sets_are_least_and_their_bounds_hold() -> None:
    rng = np.random.default_rng(8)
    tight = 0
    for number in range(120):
        n = int(rng.integers(3, 9))
        weights = rng.integers(1, 9, size=n) * rng.choice([1, 10**9], size=n)
        conflicts = Conflicts(weights.astype(np.int64))
        for _ in range(int(rng.integers(1, 9))):
            conflicts.add(rng.choice(n, size=int(rng.integers(1, min(5, n + 1))), replace=False))
        masks = [sum(1 << int(row) for row in chosen) for chosen in conflicts.sets]
        sums = {mask: sum(int(weights[row]) for row in range(n) if mask >> row & 1) for mask in range(2**n)}
        best = min(total for mask, total in sums.items() if all(mask & conflict for conflict in masks))
        chosen, complete = conflicts.cheaper(best + 1, ENDLESS)
        assert complete, number
        assert chosen is not None
        assert int(weights[chosen].sum()) == best
        assert conflicts.cheaper(best, ENDLESS) == (None, True)
        assert conflicts.least(Clock.of(0.0)) <= conflicts.least(ENDLESS) <= best
        tight += conflicts.least(ENDLESS) == best
        told = conflicts.choose(ENDLESS)
        assert told is not None
        assert all(told[conflict].any() for conflict in conflicts.sets)
    assert tight > 60


def test_a_search_for_hitting_sets_ends_on_time() -> None:
    rng = np.random.default_rng(10)
    sets = [rng.choice(200, size=4, replace=False).tolist() for _ in range(3000)]
    found = _native.cheapest_hitting_set(sets, np.ones(200, dtype=np.int64), 200, 0.1)
    assert not found["complete"]
    assert found["stopped"] == 1


def test_weights_far_apart_are_proved_in_integers() -> None:
    """One unit is below the tolerances of a solver where another row weighs 1e7."""
    codes = np.array([0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1])
    columns = np.arange(24.0)[:, None] / 23
    rows = replace(_problem(columns, codes).rows, weights=np.where(codes == 1, 10**7, 1))
    problem = DiagramProblem(rows, (1,), DiagramCost.of(alpha=0, total=rows.total, widths=(1,)), columns=columns)
    assert least_cost(problem, lower_bounds(problem, seconds=None)) == 10
    result = solve(problem, engine="auto")
    assert (result.status, result.objective) == ("optimal", problem.cost.share(10))


def test_a_threshold_needs_no_margin() -> None:
    columns = np.array([*range(8), 10**6])[:, None] / 10**6
    problem = _problem(columns, np.array([0] * 4 + [1] * 5), (1,), 0.0)
    assert lower_bounds(problem, seconds=None) == [4, 0]
    result = solve(problem, engine="auto")
    assert (result.status, result.objective) == ("optimal", 0)


def test_no_way_to_part_points_is_missed() -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        n = int(rng.integers(2, 10))
        points = rng.integers(0, 5, size=(n, 2)) / 4
        everything = (1 << n) - 1
        expected = {sum(1 << at for at in side) for side in separations(points)}
        found = sides(integers(points))
        assert found is not None
        assert found | {everything ^ mask for mask in found} | {0, everything} == expected
    cube = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    assert len(sides(cube) or ()) == (104 - 2) // 2  # of three variables, 104 functions are thresholds
    flat = [(a, b, 2 * a - b) for a in (0, 1) for b in (0, 1)]
    assert len(sides(flat) or ()) == (14 - 2) // 2  # and 14 of two
    assert sides(cube, Clock.of(0.0)) is None
