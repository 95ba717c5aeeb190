"""Iterated local search over oblique diagrams."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from proofwood.engines.diagram.oblique import moves
from proofwood.engines.diagram.oblique.draft import Draft, PricedRows, Score
from proofwood.engines.diagram.oblique.growth import grown
from proofwood.engines.diagram.shape import Diagram, InterruptedSearchError
from proofwood.engines.run import Clock
from proofwood.model.node_table import IntArray
from proofwood.problem.diagram import DiagramProblem

Move = Callable[[], Draft | None]

SEARCHED = 0.9
"""Share of the time for the search; the rest is used to widen margins and to reduce the number of coefficients."""

RESTART = 20
"""After this number of random changes without a better diagram, the search restarts."""


def improve_oblique(
    problem: DiagramProblem,
    diagram: Diagram,
    *,
    random_state: int = 0,
    seconds: float | None,
    rounds: int | None = None,
    costs: IntArray | None = None,
    target: int = 0,
) -> Diagram:
    """Improve an oblique diagram by local search; the result is never worse.

    A diagram that breaks constraints less is better; among equals, the cheaper one. In turn, the search re-optimizes
    nodes (hyperplane and arcs) while the rest is fixed, and removes, merges, lifts and inserts nodes, until no move
    helps. Then it changes the diagram at random and repeats the moves. It continues with the new diagram if that is no
    worse, or only a little worse.

    Parameters
    ----------
    problem : DiagramProblem with columns scaled to [0, 1]
    diagram : oblique diagram of the skeleton
    seconds : time limit, or None
    rounds : maximum number of random changes, or None. If this number ends the search before ``seconds`` do, equal
        ``random_state`` gives equal results
    costs : (n_rows, n_classes) int64, cost of predicting each class for each row; by default the cost of errors
    target : integer cost at which the search ends

    Returns
    -------
    Diagram
        Its hyperplanes keep the margin ``MARGIN`` between the rows that reach them, if those of ``diagram`` do.

    Raises
    ------
    ValueError
        If neither ``seconds`` nor ``rounds`` is given, the problem or the diagram is univariate, or ``costs`` has the
        wrong shape.
    InterruptedSearchError
        On Ctrl-C; the exception contains the best diagram so far.
    """
    if seconds is None and rounds is None:
        raise ValueError("seconds and rounds are both None, so the search would never end: pass one of them")
    if diagram.n_splits and diagram.normals is None:
        raise ValueError("the diagram is univariate: expected an oblique one. Convert it with as_oblique")
    priced = PricedRows.of(problem, costs)
    whole, interrupted = Clock.of(seconds), False
    clock = whole.within(None if seconds is None else SEARCHED * seconds)
    search = Improvement(Draft.of(priced, diagram), np.random.default_rng(random_state), clock, target)
    try:
        search.run(rounds)
    except KeyboardInterrupt:
        whole, interrupted = Clock.of(0.0), True
    best = search.best
    if search.best_score >= search.first_score:
        best = Draft.of(priced, diagram)
    widest = best.diagram(clock=whole)
    found = widest if Draft.of(priced, widest).score() <= search.first_score else diagram
    if interrupted:
        raise InterruptedSearchError(found)
    return found


class Improvement:
    """The state of the local search: the current draft, the best draft, and a clock.

    Parameters
    ----------
    draft : the search begins with this draft
    clock : time limit of the search
    target : integer cost at which the search ends
    """

    def __init__(self, draft: Draft, rng: np.random.Generator, clock: Clock, target: int = 0) -> None:
        self.current, self.score = draft, draft.score()
        self.best, self.best_score, self.first_score = draft, self.score, self.score
        self.rng, self.clock, self.target = rng, clock, target

    @property
    def over(self) -> bool:
        """Whether the time is over or the target is reached."""
        return self.best_score <= (0, self.target) or self.clock.over

    def run(self, rounds: int | None) -> None:
        """Descend; then change the draft at random and descend again, until time, rounds or target end the search."""
        self.descend(effort=30)
        since = done = 0
        while not self.over and (rounds is None or done < rounds):
            done += 1
            best, kept, kept_score = self.best_score, self.current, self.score
            if since >= RESTART:
                since = 0
                self._restart()
            else:
                self._disturb()
            self.descend(effort=int(self.rng.choice([6, 12, 24])), than=None if since == 0 else kept_score)
            since = 0 if self.best_score < best else since + 1
            if self.score > kept_score and since > 1 and not self._forgiven(kept_score, 0.4):
                self.current, self.score = kept, kept_score

    def _restart(self) -> None:
        """Continue from the best draft, or from a newly constructed one."""
        if self.rng.random() < 0.5:
            self.current = self.best
        else:
            self.current = grown(self.best.priced, self.rng, greedy=False, small=bool(self.rng.random() < 0.5))
        self.score = self.current.score()

    def descend(self, effort: int, than: Score | None = None) -> None:
        """Apply moves until a full turn improves nothing; stop early if the draft stays much worse than ``than``."""
        while not self.over:
            before = self.score
            for move in self._turn(effort):
                self._try(move)
                if self.over:
                    return
            if self.score >= before or (than is not None and not self._forgiven(than, 2.0)):
                return

    def _try(self, move: Move) -> bool:
        """Make the draft of a move the current one unless its score is worse; return whether it is better."""
        draft = move()
        if draft is None:
            return False
        score = draft.score()
        if score > self.score:
            return False
        better = score < self.score
        self.current, self.score = draft, score
        if score < self.best_score:
            self.best, self.best_score = draft, score
        return better

    def _turn(self, effort: int) -> Iterator[Move]:
        """Yield the moves of one turn in random order; each move changes the draft that is current when called."""
        rng = self.rng
        kinds: list[tuple[str, int, int]] = []
        for key in sorted(self.current.nodes):
            kinds += [("reoptimize", key, 0)] * 2 + [("remove", key, 0), ("lift", key, 0), ("lift", key, 1)]
            kinds += [("insert", key, 0), ("insert", key, 1), ("merge", key, 0)]
            if rng.random() < 0.3:
                kinds.append(("sink", key, 0))
        if not kinds:
            yield self._first_node
            return
        for at in rng.permutation(len(kinds)).tolist():
            kind, key, side = kinds[at]
            if key in self.current.nodes:
                yield lambda kind=kind, key=key, side=side: self._made(kind, key, side, effort)  # type: ignore[misc]

    def _made(self, kind: str, key: int, side: int, effort: int) -> Draft | None:
        """The draft after one move; if the move removed a node, a nearby hyperplane is re-optimized."""
        draft, rng = self.current, self.rng
        if kind == "reoptimize":
            return moves.reoptimize(draft, key, rng=rng, rounds=effort, clock=self.clock)
        if kind == "insert":
            return moves.insert(draft, key, bool(side), rng=rng, rounds=effort, clock=self.clock)
        if kind == "sink":
            return moves.sink(draft, key, rng=rng, rounds=effort, clock=self.clock)
        if kind == "merge":
            others = [k for k in draft.in_layer(draft.nodes[key].layer) if k != key]
            moved = moves.merge(draft, key, int(rng.choice(others))) if others else None
        elif kind == "lift":
            moved = moves.lift(draft, key, bool(side))
        else:
            moved = moves.remove(draft, key)
        if moved is None or not moved.nodes or moved.score() <= self.score:
            return moved
        price = self.current.priced.problem.cost.node_price
        if price == 0 and rng.random() < 0.8:  # nodes have no price: save the time
            return None
        near = [k for k, _ in draft.parents(key) if k in moved.nodes] or [moved.root]
        return moves.reoptimize(moved, int(rng.choice(near)), rng=rng, rounds=effort, clock=self.clock)

    def _first_node(self) -> Draft | None:
        """A draft with one optimized root node, in place of a draft that is a single leaf."""
        priced = self.current.priced
        if priced.problem.most_nodes == 0:
            return None
        leaf = ~self.current.constant
        root = priced.node(0, leaf, leaf, np.zeros(priced.columns.shape[1]), 1.0)
        draft = Draft(priced, {0: root}, 0, self.current.constant)
        return moves.reoptimize(draft, 0, rng=self.rng, rounds=30, pairs=4, clock=self.clock)

    def _disturb(self) -> None:
        """Change the current draft by one to three random moves, even if they raise the cost."""
        for _ in range(int(self.rng.integers(1, 4))):
            draft = self.current
            if not draft.nodes:
                moved = self._first_node()
            else:
                keys = sorted(draft.nodes)
                key = int(self.rng.choice(keys))
                kind = self.rng.random()
                if kind < 0.55:
                    moved = moves.shaken(draft, self.rng)
                elif kind < 0.75:
                    side = bool(self.rng.random() < 0.5)
                    moved = moves.insert(draft, key, side, rng=self.rng, rounds=2, clock=self.clock)
                elif kind < 0.85:
                    moved = moves.sink(draft, key, rng=self.rng, rounds=2, clock=self.clock)
                elif kind < 0.95:
                    moved = moves.remove(draft, key)
                else:
                    moved = moves.lift(draft, key, bool(self.rng.random() < 0.5))
            if moved is not None:
                self.current, self.score = moved, moved.score()

    def _forgiven(self, than: Score, errors: float) -> bool:
        """Whether the current draft is at most a random number of errors (mean ``errors``) worse than ``than``."""
        problem = self.current.priced.problem
        unit = problem.cost.error_price * max(1, problem.rows.total // problem.rows.n_rows)
        return self.score[0] <= than[0] and self.score[1] - than[1] <= self.rng.exponential(errors) * unit
