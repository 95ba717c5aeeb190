"""Certificates: those that check, those that must not, and their files."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulas import pigeonholes
from proofwood.certificates.drup import Certificate, CertificateError
from proofwood.solvers.session import PROOF_SOLVERS, SatSession
from strategies import examples

FOUR = ((1, 2), (1, -2), (-1, 2), (-1, -2))


def test_a_proof_written_by_hand() -> None:
    Certificate("no values", FOUR, ("1 0", "d 1 2 0", "0")).check()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("0",), r"line 1 of the proof \('0'\) does not follow"),
        (("1 0",), "ends before it derives the empty clause"),
        (("3 0", "0"), "line 1"),
        (("1 0", "0 0"), "must have exactly one 0, at its end"),
        (("1", "0"), "must have exactly one 0, at its end"),
        (("one 0", "0"), "has a word that is not an integer"),
        ((), "ends before it derives the empty clause"),
    ],
)
def test_corrupted_proofs_are_refused(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        Certificate("no values", FOUR, lines).check()


@pytest.mark.parametrize("solver", PROOF_SOLVERS)
def test_proofs_of_solvers_check_and_do_not_when_clauses_are_missing(solver: str) -> None:
    with SatSession(solver=solver, proof=True) as session:
        pigeonholes(session, 5)
        assert session.solve() is False
        certificate = session.certificate("six pigeons, five holes")
    certificate.check()
    for left_out in (0, 17, len(certificate.clauses) - 1):
        clauses = certificate.clauses[:left_out] + certificate.clauses[left_out + 1 :]
        with pytest.raises(CertificateError):
            Certificate(certificate.claim, clauses, certificate.lines).check()


@pytest.mark.parametrize("solver", PROOF_SOLVERS)
@examples(0.3)
@given(seed=st.integers(0, 10**6))
def test_incremental_proofs_check_and_only_truth_is_certified(solver: str, seed: int) -> None:
    """Clauses and assumptions in turn; every "no" is certified and is right by enumeration."""
    rng = random.Random(seed)
    n = rng.randint(2, 7)
    clauses: list[list[int]] = []
    with SatSession(solver=solver, proof=True) as session:
        session.block(n)
        for _ in range(rng.randint(1, 12)):
            for _ in range(rng.randint(1, 6)):
                chosen = rng.sample(range(1, n + 1), rng.randint(1, min(3, n)))
                clauses.append([x * rng.choice([1, -1]) for x in chosen])
                session.add(clauses[-1])
            assumed = [x * rng.choice([1, -1]) for x in rng.sample(range(1, n + 1), rng.randint(0, 2))]
            possible = any(
                all(
                    any((x > 0) == values[abs(x) - 1] for x in clause) for clause in [*clauses, *([x] for x in assumed)]
                )
                for values in product([False, True], repeat=n)
            )
            assert session.solve(assumed) is possible
            if not possible:
                session.certificate("none").check()


def test_files_for_other_checkers(tmp_path: Path) -> None:
    certificate = Certificate("no values\nfor ∧", FOUR, ("1 0", "0"))
    formula, proof = certificate.write(tmp_path / "new")
    assert formula.read_text() == ("c no values\nc for \\u2227\np cnf 2 4\n1 2 0\n1 -2 0\n-1 2 0\n-1 -2 0\n")
    assert proof.read_text() == "1 0\n0\n"
