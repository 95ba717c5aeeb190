"""The headline claims of the five papers, each decided by the rows that are stored (``verdicts``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.papers.contree_claims import contree_claims
from benchmarks.papers.inferdt_claims import inferdt_claims
from benchmarks.papers.maxsat_bdd_claims import maxsat_bdd_claims
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.odd_claims import odd_claims
from benchmarks.papers.rfxpl_claims import rfxpl_claims

CLAIMS: dict[str, Callable[[Pass], Sequence[Claim]]] = {
    "contree": contree_claims,
    "inferdt": inferdt_claims,
    "maxsat_bdd": maxsat_bdd_claims,
    "odd": odd_claims,
    "rfxpl": rfxpl_claims,
}
"""What each paper claims, and what is measured of it."""
