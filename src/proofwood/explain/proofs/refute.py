"""Errors of makers of certificates, and proofs that clauses contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofwood.engines.run import Clock
from proofwood.solvers.session import SatSession


class NoCertificateError(RuntimeError):
    """Raised if no certificate could be made; the message says for what, and why.

    Attributes
    ----------
    found : the answer without its certificate, which is still valid; None if there is no answer
    """

    found: Any = None


class OnlyRoundingError(NoCertificateError):
    """Raised if a certificate needs a change of class that only rounding might allow."""


def refuted(clauses: Sequence[Sequence[int]], clock: Clock, what: str) -> list[str] | None:
    """Lines of a proof that clauses contradict each other; None if they do not.

    Raises
    ------
    NoCertificateError
        If the time runs out; its message begins with ``what``.
    """
    with SatSession(proof=True, seconds=clock.seconds_left) as session:
        session.block(max((abs(literal) for clause in clauses for literal in clause), default=0))
        session.extend(clauses)
        answer = session.solve()
        if answer:
            return None
        if answer is None:
            if session.stopped_by == "interrupt":
                raise KeyboardInterrupt
            raise NoCertificateError(f"{what} was not proved in time")
        return list(session.certificate("").lines)
