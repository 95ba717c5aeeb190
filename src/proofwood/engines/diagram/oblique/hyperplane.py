"""Searches a hyperplane of least loss. The weighted 0-1 loss is piecewise constant, so it uses exact line searches.

The search starts at single columns, at differences of means, and at the minimizers of two convex surrogates (logistic
loss and squared hinge loss). It moves the hyperplane along coordinate axes, along random directions, and along
directions that move one wrong row to the other side while nearby rows stay. Each move takes the exact best step. When
no move helps, the search restarts from the best hyperplane after a random change. This is the search of [1]_ with other
directions.

References
----------
.. [1] Murthy, Kasif, Salzberg (1994), A System for Induction of Oblique Decision Trees, JAIR 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proofwood import _native
from proofwood.engines.diagram.oblique.cuts import MARGIN, NO_CUT, Cuts, best_cuts, lengths, weighted_sums
from proofwood.engines.diagram.oblique.margin import separate
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.problem.diagram import Norm

DIRECTIONS = 24
"""Number of line searches in a round."""

CELLS_AT_ONCE = 1_000_000
"""Approximate number of weighted sums that are sorted between two checks of the clock."""

PATIENCE = 100
"""After this number of line searches in a row without a gain, plus 15 for each column, the search restarts."""


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane:
    """A hyperplane as a test; a row goes low iff ``normal @ x <= offset``.

    Parameters
    ----------
    normal : (n_features,) coefficients; all are 0 if all rows go to the same side
    offset : halfway between the nearest rows of the two sides
    loss : total cost of the rows, each on its side
    gap : distance of the nearest rows of the two sides along the normal, with the normal scaled as large as the norm
        permits; inf if all rows go to the same side
    """

    normal: FloatArray
    offset: float
    loss: int
    gap: float

    def high(self, columns: FloatArray) -> BoolArray:
        """Boolean array (n_rows,): True for the rows that go high."""
        return np.asarray(weighted_sums(columns, self.normal) > self.offset)


def one_way(n_features: int, *, high: bool, loss: int) -> Hyperplane:
    """A hyperplane that sends every row to one side, by comparing 0 with an offset of -1 or 1."""
    return Hyperplane(np.zeros(n_features), -1.0 if high else 1.0, loss, float("inf"))


def best_hyperplane(
    columns: FloatArray,
    price_low: IntArray,
    price_high: IntArray,
    *,
    norm: Norm,
    rng: np.random.Generator,
    starts: Sequence[FloatArray] = (),
    fits: bool = True,
    rounds: int = 60,
    clock: Clock = ENDLESS,
) -> Hyperplane:
    """Search a hyperplane of least loss that keeps the margin ``MARGIN`` between the rows of its two sides.

    Parameters
    ----------
    columns : (n_rows, n_features) rows that reach the node, scaled to [0, 1]
    price_low, price_high : (n_rows,) int64, cost of each row on the low side and on the high side
    norm : norm of the hyperplanes
    starts : additional normals (n_features,) at which the search starts
    fits : whether to fit the convex surrogates, which takes about as long as 10 rounds
    rounds : number of rounds of ``DIRECTIONS`` line searches
    clock : when it is over, the best hyperplane so far is returned

    Returns
    -------
    Hyperplane
        It is never worse than sending all rows to one side. If there is time to try all columns, it is never worse than
        the best cut on a single column. It is proved best only if every row is on its cheaper side.
    """
    extra = np.asarray(price_high - price_low, dtype=np.int64)
    base, d = int(price_low.sum()), columns.shape[1]
    total = int(extra.sum())
    best = one_way(d, high=total < 0, loss=base + min(total, 0))
    floor = base + int(np.minimum(extra, 0).sum())
    if best.loss == floor or len(columns) < 2 or d == 0 or clock.over:
        return best
    search = _Search(columns, extra, base, norm, best, clock)
    heads = search.offer_normals(search.first_normals(starts, fits=fits))
    for share in (2, 1):  # the second half begins at the best hyperplane of the first half that keeps the margin
        if not heads or search.best.loss == floor or rounds <= 0:
            break
        if clock.over:
            break
        seconds = -1.0 if clock.seconds_left is None else clock.seconds_left
        steps = max(1, rounds * DIRECTIONS // 2)
        patience = PATIENCE + 15 * columns.shape[1]
        found = _native.hyperplane(
            search.rows_that_count,
            search.extra_that_counts,
            np.array(heads),
            int(rng.integers(2**63)),
            steps,
            patience,
            seconds if share == 1 else seconds / 2,
        )
        for loss, head in found:
            if base + loss >= search.best.loss or search.clock.over:
                break
            search.offer(np.array(head))
        heads = [search.best_head(heads[0]), *(np.array(head) for _, head in found[:1])]
    return search.best


class _Search:
    """The state of one search. Its rows are centred; a *head* is a vector of a normal and an offset."""

    def __init__(
        self,
        columns: FloatArray,
        extra: IntArray,
        base: int,
        norm: Norm,
        best: Hyperplane,
        clock: Clock,
    ) -> None:
        self.columns, self.extra, self.base, self.best = columns, extra, base, best
        self.norm, self.clock = norm, clock
        self.middle = columns.mean(axis=0)
        self.rows = np.column_stack([columns - self.middle, np.full(len(columns), -1.0)])
        self.counts = extra != 0
        self.rows_that_count, self.extra_that_counts = self.rows[self.counts], extra[self.counts]

    def loss_of(self, head: FloatArray) -> int:
        """The loss of a head minus the loss with all rows on the low side; the margin is ignored.

        A head is a vector of a normal and an offset.
        """
        return int(self.extra_that_counts[self.rows_that_count @ head > 0].sum())

    def first_normals(self, starts: Sequence[FloatArray], *, fits: bool) -> FloatArray:
        """Array (n_features, n_normals): the normals at which the search starts.

        They are single columns, ``starts``, the difference of the means of the two sides, and fits of the surrogates.
        """
        sign = np.where(self.extra_that_counts < 0, 1.0, -1.0)  # 1: the high side is cheaper
        weight = np.abs(self.extra_that_counts) / np.abs(self.extra_that_counts).mean()
        d = self.columns.shape[1]
        found = [*np.eye(d), *starts]
        if (sign > 0).any() and (sign < 0).any():
            rows = self.rows_that_count
            means = [np.average(rows[sign == s, :d], axis=0, weights=weight[sign == s]) for s in (1.0, -1.0)]
            found.append(means[0] - means[1])
            kinds = [(strength, hinge) for strength in (1.0, 100.0) for hinge in (False, True)] if fits else []
            found += [fit(rows, sign, weight, strength, hinge, clock=self.clock)[:d] for strength, hinge in kinds]
        normals = np.array([normal for normal in found if np.abs(normal).sum() > 1e-9])
        return np.asarray((normals / np.abs(normals).sum(axis=1, keepdims=True)).T)

    def offer_normals(self, normals: FloatArray) -> list[FloatArray]:
        """Compare the best cuts along ``normals`` with the best hyperplane; return the three best heads, best first.

        Once the time is over, the remaining normals are skipped.
        """
        together = max(1, CELLS_AT_ONCE // len(self.columns))
        parts: list[Cuts] = []
        for first in range(0, normals.shape[1], together):
            if self.clock.over:
                break
            some = normals[:, first : first + together]
            parts.append(self._cuts(self.columns @ some, some))
        if not parts:
            return []
        cuts = Cuts.joined(parts)
        heads: list[FloatArray] = []
        for at in np.argsort(cuts.loss, kind="stable")[:3].tolist():
            if cuts.loss[at] == NO_CUT:
                continue
            sign = -1.0 if cuts.flipped[at] else 1.0
            normal = sign * normals[:, at]
            heads.append(np.append(normal, sign * cuts.offset[at] - normal @ self.middle))
            self._keep(normal, sign * float(cuts.offset[at]), float(cuts.gap[at]))
        return heads

    def offer(self, head: FloatArray) -> None:
        """Make the hyperplane of ``head`` the best one if it has less loss and keeps the margin.

        If rows of the two sides are too close, the hyperplane is turned to the widest gap between the sides. If no
        hyperplane separates them by the margin, the best cut along the same normal is used.
        """
        if self.base + self.loss_of(head) >= self.best.loss:
            return
        normal = head[:-1] / np.abs(head[:-1]).sum()
        cut = self._cuts(weighted_sums(self.columns, normal)[:, None], normal[:, None])
        high = self.rows @ head > 0
        if cut.loss[0] > self.loss_of(head) and high.any() and not high.all():
            found = separate(self.columns[~high], self.columns[high], norm=self.norm, seconds=self.clock.seconds_left)
            if found is not None and found.gap >= MARGIN:
                self._keep(found.normal, found.offset, found.gap)
                return
        if cut.loss[0] < NO_CUT:
            sign = -1.0 if cut.flipped[0] else 1.0
            self._keep(sign * normal, sign * float(cut.offset[0]), float(cut.gap[0]))

    def _cuts(self, sums: FloatArray, normals: FloatArray) -> Cuts:
        return best_cuts(sums, self.extra, lengths(normals.T, self.norm), norm=self.norm)

    def _keep(self, normal: FloatArray, offset: float, gap: float) -> None:
        high = weighted_sums(self.columns, normal) > offset
        loss = self.base + int(self.extra[high].sum())
        if loss < self.best.loss:
            self.best = Hyperplane(normal, offset, loss, gap)

    def best_head(self, otherwise: FloatArray) -> FloatArray:
        """Normal and offset of the best hyperplane in one vector, or ``otherwise`` if it sends all rows to one side."""
        normal = self.best.normal
        return np.append(normal, self.best.offset - normal @ self.middle) if normal.any() else otherwise


def fit(
    rows: FloatArray,
    sign: FloatArray,
    weight: FloatArray,
    strength: float,
    hinge: bool,
    *,
    clock: Clock = ENDLESS,
) -> FloatArray:
    """Minimize ``|a|^2 / 2 + strength * sum of weighted losses`` by Newton's method with step halving.

    Parameters
    ----------
    rows : (n_rows, n_features + 1) rows with a last entry of -1, so that the last entry of the head is the offset
    sign : (n_rows,) 1 or -1, the desired side of each row
    weight : (n_rows,) weights with mean 1
    strength : factor of the losses
    hinge : if True, squared hinge loss (a linear support vector machine); else logistic loss
    clock : when it is over, the current head is returned

    Returns
    -------
    (n_features + 1,) normal and offset
    """
    size = rows.shape[1]
    if clock.over:
        return np.zeros(size)
    signed = rows * sign[:, None]
    ridge = np.append(np.ones(size - 1), 1e-6)
    weight = weight * strength

    def value(head: FloatArray) -> float:
        reach = signed @ head
        losses = np.maximum(0.0, 1.0 - reach) ** 2 if hinge else np.logaddexp(0.0, -reach)
        return float(0.5 * (ridge * head) @ head + weight @ losses)

    head = np.zeros(size)
    now = value(head)
    for _ in range(12):
        if clock.over:
            break
        reach = signed @ head
        if hinge:
            short = np.maximum(0.0, 1.0 - reach)
            first, second = -2.0 * weight * short, 2.0 * weight * (short > 0)
        else:
            chance = 0.5 * (1.0 - np.tanh(0.5 * reach))  # of the wrong side
            first, second = -weight * chance, weight * chance * (1.0 - chance)
        slope = ridge * head + signed.T @ first
        curve = (signed * second[:, None]).T @ signed + np.diag(ridge + 1e-9)
        step = np.linalg.solve(curve, slope)
        scale = 1.0
        while scale > 1e-3 and value(head - scale * step) > now:
            scale /= 2
        if scale <= 1e-3:
            break
        head = head - scale * step
        before, now = now, value(head)
        if before - now <= 1e-6 * (1.0 + now):
            break
    return head
