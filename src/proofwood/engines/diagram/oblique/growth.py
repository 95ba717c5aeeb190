"""Builds oblique diagrams from the top down and prunes them from the bottom up: Step 1 of [1]_ with hyperplanes.

References
----------
.. [1] Florio, Martins, Schiffer, Serra, Vidal (2023), Optimal Decision Diagrams for Classification, AAAI.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from proofwood.engines.diagram.oblique.cuts import entropy, gain_cuts, lengths, weighted_sums
from proofwood.engines.diagram.oblique.draft import Draft, Node, PricedRows
from proofwood.engines.diagram.oblique.hyperplane import fit
from proofwood.engines.diagram.oblique.moves import remove
from proofwood.engines.run import ENDLESS, Clock
from proofwood.model.node_table import BoolArray, FloatArray

FEATURE_SHARE = 0.6
"""Share of the columns that are used at a node of a random start [1]_."""
CELLS = 1_000_000
"""Approximate number of rows times classes times normals that are processed between two checks of the clock."""


def grown(priced: PricedRows, rng: np.random.Generator, *, greedy: bool, small: bool, clock: Clock = ENDLESS) -> Draft:
    """Build one diagram and prune it.

    Parameters
    ----------
    greedy : whether each node uses all columns and takes the best cut, so that columns and cuts are not random
    small : whether to stop at a random number of nodes
    clock : when it is over, no further node is added
    """
    most = priced.problem.most_nodes
    cap = most
    if small and most > 1:
        cap = int(rng.integers(1, min(most, priced.problem.rows.n_classes + 4) + 1))
    return _pruned(_Growth(priced, rng, greedy=greedy, cap=cap, clock=clock).draft())


def _pruned(draft: Draft) -> Draft:
    """Remove, from the bottom up, nodes with two leaves if this does not make the score worse."""
    score = draft.score()
    changed = True
    while changed:
        changed = False
        for key in reversed(draft.order()):
            node = draft.nodes.get(key)
            if node is None or node.low >= 0 or node.high >= 0:
                continue
            fewer = remove(draft, key)
            if fewer is not None and (fewer_score := fewer.score()) <= score:
                draft, score, changed = fewer, fewer_score, True
    return draft


@dataclass(slots=True)
class _Flow:
    """The rows that enter a node of the next layer, and the arcs by which they come."""

    rows: BoolArray
    arcs: list[tuple[int, bool]]
    weights: FloatArray = field(repr=False)

    @property
    def entropy(self) -> float:
        """Entropy of the classes in bits, times the weight."""
        return float(entropy(self.weights))


class _Growth:
    """The state of one construction of a diagram from the top down."""

    def __init__(self, priced: PricedRows, rng: np.random.Generator, *, greedy: bool, cap: int, clock: Clock) -> None:
        rows = priced.problem.rows
        self.clock = clock
        self.priced, self.problem, self.rng, self.greedy, self.cap = priced, priced.problem, rng, greedy, cap
        self.weights = np.zeros((rows.n_rows, rows.n_classes))
        self.weights[np.arange(rows.n_rows), rows.codes] = rows.weights

    def draft(self) -> Draft:
        """Build the diagram layer by layer."""
        widths = self.problem.widths
        everything = np.ones(len(self.priced.columns), dtype=np.bool_)
        constant = self._label(everything)
        nodes: dict[int, Node] = {}
        flows = [self._flow(everything, [])]
        for layer, _ in enumerate(widths):
            ways: list[_Flow] = []
            for flow in flows:
                plane = None if not self._divisible(flow) else self._plane(flow.rows)
                if plane is None:
                    self._end(nodes, flow)
                    continue
                key = len(nodes)
                for parent, side in flow.arcs:
                    _point(nodes, parent, side, key)
                nodes[key] = self.priced.node(layer, ~constant, ~constant, *plane)
                high = nodes[key].height > 0
                ways += [self._flow(flow.rows & ~high, [(key, False)]), self._flow(flow.rows & high, [(key, True)])]
            room = widths[layer + 1] if layer + 1 < len(widths) else 0
            flows = self._narrowed(nodes, ways, min(room, self.cap - len(nodes)), room)
        return Draft(self.priced, nodes, 0, constant).trim()

    def _flow(self, rows: BoolArray, arcs: list[tuple[int, bool]]) -> _Flow:
        return _Flow(rows, arcs, self.weights[rows].sum(axis=0))

    def _divisible(self, flow: _Flow) -> bool:
        weight = float(flow.weights.sum())
        return bool(np.count_nonzero(flow.weights) > 1 and weight >= self.problem.min_weight and self.cap > 0)

    def _label(self, rows: BoolArray) -> int:
        return int(self.priced.costs[rows].sum(axis=0).argmin())

    def _end(self, nodes: dict[int, Node], flow: _Flow) -> None:
        for parent, side in flow.arcs:
            rows = flow.rows & ((nodes[parent].height > 0) == side)
            _point(nodes, parent, side, ~self._label(rows if rows.any() else flow.rows))

    def _narrowed(self, nodes: dict[int, Node], ways: list[_Flow], most: int, width: int) -> list[_Flow]:
        """Reduce ``ways`` to at most ``most`` flows.

        Flows that cannot be split end in leaves. If too many are left, the pairs that lose the least information are
        merged. In a tree, or if the next layer has enough nodes, the flows of least entropy end in leaves instead.
        """
        flows = []
        for flow in ways:
            if most > 0 and self._divisible(flow):
                flows.append(flow)
            else:
                self._end(nodes, flow)
        while len(flows) > max(most, 0):
            pairs = [] if self.problem.tree or len(flows) <= width else list(self._pairs(flows))
            if not pairs:
                purest = min(range(len(flows)), key=lambda at: flows[at].entropy)
                self._end(nodes, flows.pop(purest))
                continue
            _, first, second = min(pairs)
            taken = flows.pop(second)
            flows[first] = self._flow(flows[first].rows | taken.rows, flows[first].arcs + taken.arcs)
        return flows

    def _pairs(self, flows: list[_Flow]) -> list[tuple[float, int, int]]:
        """For each pair of flows (rows that enter one node): the information lost by merging them, and their indices.

        The loss has a large surcharge if both arcs of one node would merge, so that this is the last choice.
        """
        found = []
        for second in range(len(flows)):
            for first in range(second):
                one, other = flows[first], flows[second]
                lost = float(entropy(one.weights + other.weights)) - one.entropy - other.entropy
                if {arc[0] for arc in one.arcs} & {arc[0] for arc in other.arcs}:
                    lost += 2.0**40
                found.append((lost, first, second))
        return found

    def _plane(self, rows: BoolArray) -> tuple[FloatArray, float] | None:
        """The normal and offset with the greatest information gain among the candidates.

        Returns None if no cut gains information, or if the time is over.
        """
        if self.clock.over:
            return None
        there, weights = self.priced.columns[rows], self.weights[rows]
        normals = self._normals(there, weights)
        cuts = []
        together = max(1, CELLS // weights.size)
        for first in range(0, len(normals), together):
            if self.clock.over:
                return None
            some = normals[first : first + together]
            length = lengths(some, self.problem.norm)
            cuts.append(gain_cuts(np.asarray(there @ some.T), weights, length, norm=self.problem.norm))
        gain, offset = (np.concatenate(parts) for parts in zip(*cuts, strict=True))
        judged = gain if self.greedy else gain * self.rng.uniform(0.8, 1.0, size=gain.size)
        best = int(np.argmax(judged))
        if not gain[best] > 1e-9:
            return None
        normal = np.ascontiguousarray(normals[best])
        high = weighted_sums(there, normal) > offset[best]
        return None if high.all() or not high.any() else (normal, float(offset[best]))

    def _normals(self, there: FloatArray, weights: FloatArray) -> FloatArray:
        """Array (n_normals, n_features): the candidates: single columns, and normals that separate class groups."""
        d = there.shape[1]
        used = np.arange(d)
        if not self.greedy and d > 1:
            used = np.sort(self.rng.permutation(d)[: max(1, round(FEATURE_SHARE * d))])
        found = [np.eye(d)[column] for column in used.tolist()]
        middle = there.mean(axis=0)
        centred = np.column_stack([there[:, used] - middle[used], np.full(len(there), -1.0)])
        for left, right in self._groupings(weights.sum(axis=0)):
            if self.clock.over:
                break
            low, high = weights[:, left].sum(axis=1), weights[:, right].sum(axis=1)
            counts = (low > 0) | (high > 0)
            sign = np.where(high > 0, 1.0, -1.0)[counts]
            weight = (low + high)[counts] / (low + high)[counts].mean()
            strengths = (1.0, 100.0) if self.greedy else (float(10.0 ** self.rng.uniform(-0.5, 3.0)),)
            heads = [fit(centred[counts], sign, weight, strength, hinge=False) for strength in strengths]
            ends = [np.average(centred[counts][sign == s], axis=0, weights=weight[sign == s]) for s in (1.0, -1.0)]
            for head in [*heads, ends[0] - ends[1]]:
                normal = np.zeros(d)
                normal[used] = head[:-1]
                length = np.abs(normal).sum()
                if length > 1e-9:
                    found.append(normal / length)
        return np.array(found)

    def _groupings(self, weights: FloatArray) -> list[tuple[list[int], list[int]]]:
        """Pairs of class groups to separate: one class against the rest, one against another, and random halves.

        If there are many pairs, a random selection is returned.
        """
        present = np.flatnonzero(weights).tolist()
        if len(present) == 2:
            return [([present[0]], [present[1]])]
        found = [([code], [other for other in present if other != code]) for code in present]
        found += [([a], [b]) for at, a in enumerate(present) for b in present[at + 1 :]]
        if len(present) > 3:
            for _ in range(3):
                mixed = self.rng.permutation(present).tolist()
                found.append((mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]))
        most = 20 if self.greedy else 6
        if len(found) > most:
            found = [found[at] for at in self.rng.permutation(len(found))[:most].tolist()]
        return found


def _point(nodes: dict[int, Node], key: int, side: bool, target: int) -> None:
    nodes[key] = replace(nodes[key], high=target) if side else replace(nodes[key], low=target)
