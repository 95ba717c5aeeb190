"""An iterator over all explanations of a row, and the certificate for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from proofwood import arguments, memory
from proofwood.explain.answers.certified import certifier, uncertified
from proofwood.explain.explanation import Explanation
from proofwood.explain.proofs.certificate import Certifier, NoCertificateError
from proofwood.explain.question import Question
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.extract import Kind


class Listing(Iterator[Explanation]):
    """Iterator over the explanations of one row, each as soon as it is found.

    Parameters
    ----------
    found : iterator over the explanations
    run : the search that finds them
    doubts : those explanations, of any kind, that are correct only up to rounding
    """

    def __init__(self, found: Iterator[Explanation], run: Enumeration, doubts: Sequence[Explanation] = ()) -> None:
        self._found, self._run, self._doubts = found, run, doubts

    def __next__(self) -> Explanation:
        return next(self._found)

    @property
    def complete(self) -> bool:
        """Whether it is proved that all explanations were found; changes that only rounding might allow count."""
        return self._run.complete

    @property
    def exact(self) -> bool:
        """Whether the list is complete, and no explanation in it depends on rounding."""
        return self._run.complete and not self._doubts


def listing(
    q: Question, *, limit: int | None, kind: Kind | None, first: Kind, memory_limit: int | str | None
) -> Listing:
    """Return the list; the options are those of :meth:`proofwood.Explainer.enumerate`, and a memory limit per step."""
    q.require_plausible()
    arguments.choice(kind, "kind", (None, "abductive", "contrastive"))
    arguments.choice(first, "first", ("abductive", "contrastive"))
    most = arguments.count(limit, "limit")
    run = Enumeration(q, first=first)
    doubts: list[Explanation] = []
    return Listing(itertools.islice(_listed(q, run, kind, doubts, memory_limit), most), run, doubts)


def _listed(
    q: Question, run: Enumeration, kind: Kind | None, doubts: list[Explanation], memory_limit: int | str | None
) -> Iterator[Explanation]:
    """Iterate over explanations of a kind; add those of any kind that are correct only up to rounding to ``doubts``."""
    q.restart()
    for item in memory.stepwise(memory_limit, iter(run)):
        low, high = q.scores.box(q.cells, item.features)
        box = {"low": low, "high": high} if item.kind == "abductive" else {}
        found = q.explanation(item.kind, item.features, "minimal", item.witnesses, **box)
        if not found.exact:
            doubts.append(found)
        if kind is None or item.kind == kind:
            yield found
            q.restart()


def enumeration_certificate(q: Question) -> dict[str, Any]:
    """All explanations with their proofs; raises NoCertificateError if the time runs out."""
    uncertified(q.model)
    run = Enumeration(q)
    found = list(run)
    if not run.complete:
        raise NoCertificateError(
            f"no certificate for this enumeration: the time ran out after {len(found)} explanations; raise time_limit"
        )
    kinds = [[one.features for one in found if one.kind == kind] for kind in ("abductive", "contrastive")]
    rows = [row for one in found for row in one.witnesses.values()]
    return certifier(Certifier, q, rows).enumeration(*kinds)
