"""One explanation of one row: subset-minimal sufficient features (abductive), or changing ones (contrastive).

A set ``X`` of features suffices if every row that agrees on ``X`` gets the same class; a set ``Y`` changes the class
if some row that agrees outside ``Y`` gets another class. An abductive explanation (AXp) is a subset-minimal ``X``,
eq. 1 of [1]_, a contrastive one (CXp) a subset-minimal ``Y``, eq. 2; each kind consists of the minimal hitting sets of
the other. The oracle decides whether a set changes the class: if rounding leaves this open, it counts as a change. If
rounding leaves the class of the row itself open, all features together still suffice, because the model is a function;
no other set is then proved to suffice.

.. [1] Izza, Marques-Silva (2021), On Explaining Random Forests with SAT, IJCAI.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from proofwood.explain.oracles.oracle import about_row
from proofwood.explain.search import restarts
from proofwood.explain.search.questions import Questions, mask_of, members
from proofwood.model.node_table import IntArray

Kind = Literal["abductive", "contrastive"]

MANY = 24
"""Least number of candidates for which several features are released at once, in groups that grow and shrink."""


class NotSufficientError(ValueError):
    """Raised if it is proved that the permitted features do not suffice; ``witness`` is a counterexample.

    Parameters
    ----------
    message : str
    witness : (n_columns,) cells of a row of another class that changes only features in ``free``
    """

    def __init__(self, message: str, witness: IntArray) -> None:
        super().__init__(message)
        self.witness = witness

    def __reduce__(self) -> tuple[type[NotSufficientError], tuple[str, IntArray]]:
        return NotSufficientError, (str(self), self.witness)


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search for one explanation.

    Parameters
    ----------
    features : abductive: they suffice; contrastive: changing them can change the class. Only if ``proved``
    complete : whether the set is proved to be subset-minimal
    proved : whether the set is proved to suffice (to change the class); False only if time ran out before any answer
    witnesses : cells of rows of another class. Abductive: for each feature, a row that agrees on all other
        ``features``, which shows that it cannot be left out (for those in ``keep`` only if one was found).
        Contrastive: for each feature the same row, which changes exactly ``features``
    lower_bound : proved lower bound on the number of features of any explanation; 0 if none was asked for
    """

    features: frozenset[int]
    complete: bool
    proved: bool = True
    witnesses: Mapping[int, IntArray] = field(default_factory=dict)
    lower_bound: int = 0

    def status(self, incomplete: str) -> str:
        """The status of the answer; ``incomplete`` is the status if it is correct but perhaps not minimal."""
        if not self.proved:
            return "unknown"
        return "minimal" if self.complete else incomplete

    @property
    def smallest(self) -> bool:
        """Whether it is proved that no explanation has fewer features."""
        return self.proved and len(self.features) <= self.lower_bound


def abductive(
    q: Questions,
    *,
    order: Sequence[int] | None = None,
    keep: Collection[int] = (),
    free: Collection[int] = (),
    start: Collection[int] | None = None,
    proved: bool = False,
) -> Found:
    """A subset-minimal set of features that suffices for the class.

    Parameters
    ----------
    q : questions about the row. If their time runs out, the answer is the best sufficient set so far
    order : features in the order in which to release them; the others follow. Without a time limit, the answer is then
        that of plain deletion in this order. By default, features of little effect are released first, together with
        all features that a proof did not need; if this leads to hard questions, other orders are tried
        (:mod:`restarts`)
    keep : features that the answer must contain; minimal then means that no other feature can be left out
    free : features that the answer must not contain
    start : set to begin with, such as the explanation of a similar row; if it does not suffice, all features are used
    proved : whether ``start`` is known to suffice

    Returns
    -------
    Found

    Raises
    ------
    NotSufficientError
        If the features that are not in ``free`` do not suffice.
    ValueError
        If a feature is both in ``keep`` and ``free``, or does not exist.
    """
    for features in (order or (), keep, free, start or ()):
        _check(q, features)
    kept, banned = mask_of(keep), mask_of(free)
    if kept & banned:
        raise ValueError(
            f"features {members(kept & banned)} are both in keep and in free: a feature can be in one only"
        )
    if start is not None and proved:
        q.learn_sufficient(mask_of(start))
    allowed = q.all & ~banned
    current = allowed if start is None else (mask_of(start) | kept) & allowed
    changes = q.ask(current)
    if changes is not False and current != allowed:
        current = allowed
        changes = q.ask(current)
    if changes:
        raise NotSufficientError(
            f"the class can change while all features except {members(banned)} keep their values: these cannot all "
            "be free. Remove some of them from free.",
            q.changing[q.change_of(current)],
        )
    if changes is None:
        return Found(frozenset(members(allowed)), complete=False, proved=False)
    strict = order is not None
    if not strict:
        current = q.core_of(current) | kept
    ranked = list(dict.fromkeys([*(order or ()), *q.release_order()]))
    if not strict:
        candidates = [f for f in ranked if current & ~kept & (1 << f)]
        current, left = _pass(q, current, kept, candidates, None, False, turns=restarts.TURNS)
        if left:
            current = restarts.easier(q, current, left, kept, allowed)
    current, complete = shrink(q, current, kept, ranked, strict=strict)
    return Found(frozenset(members(current)), complete, witnesses=witnesses_of(q, current))


def shrink(
    q: Questions,
    current: int,
    kept: int = 0,
    order: Iterable[int] | None = None,
    *,
    strict: bool = False,
) -> tuple[int, bool]:
    """Release features of a sufficient set until none can be left out, or the time is over.

    If there is a time limit, hard questions are postponed: each question first gets a small share of the remaining
    time, and unanswered questions are asked again with more time.

    Parameters
    ----------
    q : Questions
    current : mask of a set that is known to suffice
    kept : mask of features that stay in the set
    order : features in the order in which to release them; ascending by default
    strict : whether to follow the order even if a proof did not need a later feature

    Returns
    -------
    mask of a sufficient set, and whether it is proved to be minimal
    """
    ranked = [f for f in (range(q.n) if order is None else order) if current & ~kept & (1 << f)]
    return _again(q, current, ranked, lambda now, left, cap: _pass(q, now, kept, left, cap, strict))


def _again(
    q: Questions,
    current: int,
    ranked: list[int],
    tried: Callable[[int, list[int], float | None], tuple[int, list[int]]],
) -> tuple[int, bool]:
    """Shrink a set in passes over undecided candidates, each pass with more time, until all are decided or time is up.

    Parameters
    ----------
    tried : one pass: a function of the set, its candidates and the seconds for each candidate; it returns the smaller
        set and the candidates that are still undecided
    """
    share = 0.25
    while ranked:
        left = q.clock.seconds_left
        cap = None if left is None or share > 1.0 else share * left / len(ranked)
        current, ranked = tried(current, ranked, cap)
        if cap is None or q.clock.over:
            break
        share *= 4.0
    return current, not ranked


def _pass(
    q: Questions,
    current: int,
    kept: int,
    ranked: list[int],
    cap: float | None,
    strict: bool,
    turns: int | None = None,
) -> tuple[int, list[int]]:
    """Ask once for every candidate, singly or in groups; return the set and the undecided candidates."""
    left, size, grouped = list(ranked), 1, len(ranked) >= MANY
    opened: list[int] = []
    while left:
        group = left[:size]
        rest = current & ~mask_of(group)
        changes = q.ask(rest, cap, turns=turns)
        if changes is False:
            current = rest if strict else q.core_of(rest) | (kept & current)
            left = [f for f in left[len(group) :] if current & (1 << f)]
            opened = [f for f in opened if current & (1 << f)]
            size = 2 * size if grouped else 1
        elif len(group) > 1:
            size = len(group) // 2
        else:
            left = left[1:]
            if changes is None:
                opened.append(group[0])
    return current, opened


def contrastive(q: Questions, *, order: Sequence[int] | None = None, immutable: Collection[int] = ()) -> Found | None:
    """A subset-minimal set of features whose change can change the class.

    Parameters
    ----------
    q : questions about the row. If their time runs out, the answer is the smallest changing set so far
    order : features in the order in which to try to keep them unchanged; by default those of least effect first
    immutable : features that do not change

    Returns
    -------
    Found or None
        None if it is proved that no such change exists.

    Raises
    ------
    ValueError
        If a feature does not exist.
    """
    for features in (order or (), immutable):
        _check(q, features)
    fixed = mask_of(immutable)
    changes = q.ask(fixed)
    if changes is None:
        return Found(frozenset(members(q.all & ~fixed)), complete=False, proved=False)
    if changes is False:
        return None
    ranked = list(dict.fromkeys([*(order or ()), *q.release_order()]))
    current, complete = shrink_change(q, q.change_of(fixed), ranked)
    witness = q.changing[current]
    features = frozenset(members(current))
    return Found(features, complete, witnesses=dict.fromkeys(features, witness))


def shrink_change(q: Questions, current: int, order: Iterable[int] | None = None) -> tuple[int, bool]:
    """Remove features from a changing set until none can be left out, or the time is over.

    The complement, the set of unchanged features, grows: this is ``grow`` of MARCO (``enumerate``).

    Parameters
    ----------
    q : Questions
    current : mask of the changed features of a known witness
    order : features in the order in which to remove them; ascending by default

    Returns
    -------
    mask of the changed features of a known witness, and whether it is proved to be minimal
    """
    ranked = [f for f in (range(q.n) if order is None else order) if current & (1 << f)]

    def tried(current: int, left: list[int], cap: float | None) -> tuple[int, list[int]]:
        opened = []
        for feature in left:
            if not current & (1 << feature):
                continue
            fixed = q.all & ~current | (1 << feature)
            changes = q.ask(fixed, cap)
            if changes:
                current = q.change_of(fixed)
            elif changes is None:
                opened.append(feature)
        return current, [f for f in opened if current & (1 << f)]

    return _again(q, current, ranked, tried)


def thin(q: Questions, changed: int, order: Iterable[int]) -> int:
    """Undo changes of a known witness feature by feature, as long as it has another class, without the oracle.

    Parameters
    ----------
    q : Questions
    changed : mask of the changed features of a known witness
    order : features in the order in which to undo their changes

    Returns
    -------
    mask of the changed features of a known witness; it need not be minimal
    """
    question = about_row(q.scores, q.cells, q.label, (), q.targets)
    row = q.changing[changed]
    for feature in order:
        rest = changed & ~(1 << feature)
        if rest in (0, changed):
            continue
        columns = list(q.scores.features[feature])
        trial = row.copy()
        trial[columns] = q.cells[columns]
        if q.scores.allows(trial) and question.reached(q.scores, trial):
            row, changed = trial, rest
    q.changing.setdefault(changed, row)
    return changed


def witnesses_of(q: Questions, features: int) -> dict[int, IntArray]:
    """For features of a set: a known row of another class that agrees on all other features of the set, if any."""
    found: dict[int, IntArray] = {}
    for changed, cells in q.changing.items():
        spared = changed & features
        if spared.bit_count() == 1:
            found.setdefault(spared.bit_length() - 1, cells)
    return dict(sorted(found.items()))


def _check(q: Questions, features: Iterable[int]) -> None:
    bad = [feature for feature in features if not 0 <= feature < q.n]
    if bad:
        raise ValueError(f"no features {bad} exist: expected indices from 0 to {q.n - 1}")
