"""Why there may be no certificate, and proofs that clauses contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofwood.engines.run import Clock
from proofwood.solvers.session import SatSession


class NoCertificateError(RuntimeError):
    """No certificate could be made; the message says for what, and why.

    Attributes
    ----------
    found : the answer without its certificate, which is valid all the same; None if there is no answer
    """

    found: Any = None


class OnlyRoundingError(NoCertificateError):
    """The certificate needs a change that is one only if rounding is given the doubt."""


def refuted(clauses: Sequence[Sequence[int]], clock: Clock, what: str) -> list[str] | None:
    """Lines of the proof that clauses contradict each other; None if they do not.

    Raises
    ------
    NoCertificateError
        If the time is over; ``what`` begins its message.
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
            raise NoCertificateError(f"{what} was not refuted in time")
        return list(session.certificate("").lines)
