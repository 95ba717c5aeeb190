"""Proofs of unsatisfiability, which are checked without the solver that found them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Literals = tuple[int, ...]


class CertificateError(ValueError):
    """Raised when a certificate cannot be read or does not prove its claim; the message says what fails."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim, clauses whose contradiction proves the claim, and a DRUP proof of this contradiction.

    Parameters
    ----------
    claim : text of the claim, which follows if the clauses cannot all be satisfied
    clauses : the formula
    lines : one clause per line, literals and a final 0; a leading ``d`` drops a clause. Every clause must follow from
        the clauses before it by unit propagation, and the last clause added must be the empty one
    """

    claim: str
    clauses: tuple[Literals, ...]
    lines: tuple[str, ...]

    def check(self) -> None:
        """Check the proof line by line; the time grows with the number of clauses times the number of lines.

        Raises
        ------
        CertificateError
            If a line is not a clause, does not follow, or the empty clause is never reached.
        """
        checker = _Propagator(self.clauses)
        for number, line in enumerate(self.lines, start=1):
            drop, clause = _parsed(line, number)
            if drop:
                checker.drop(clause)
            elif not checker.implies(clause):
                raise CertificateError(f"line {number} of the proof ({line!r}) does not follow by unit propagation")
            elif not clause:
                return
            else:
                checker.add(clause)
        raise CertificateError("the proof ends before it derives the empty clause")

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write ``formula.cnf`` (DIMACS) and ``proof.drup`` into ``folder``, for any checker, and return both paths."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        formula, proof = target / "formula.cnf", target / "proof.drup"
        with formula.open("w", encoding="ascii") as file:
            highest = max((abs(literal) for clause in self.clauses for literal in clause), default=0)
            for text in self.claim.encode("ascii", "backslashreplace").decode().splitlines():
                file.write(f"c {text}\n")
            file.write(f"p cnf {highest} {len(self.clauses)}\n")
            file.writelines(" ".join(map(str, (*clause, 0))) + "\n" for clause in self.clauses)
        proof.write_text("".join(f"{line}\n" for line in self.lines), encoding="ascii")
        return formula, proof


def _parsed(line: str, number: int) -> tuple[bool, Literals]:
    """Parse a line: return whether it drops a clause, and the clause."""
    words = line.split()
    drop = words[:1] == ["d"]
    try:
        literals = tuple(int(word) for word in words[drop:])
    except ValueError:
        raise CertificateError(f"line {number} of the proof ({line!r}) has a word that is not an integer") from None
    if literals[-1:] != (0,) or 0 in literals[:-1]:
        raise CertificateError(f"line {number} of the proof ({line!r}) must have exactly one 0, at its end")
    return drop, literals[:-1]


class _Propagator:
    """A set of clauses, with two watched literals each, and the literals that follow by unit propagation."""

    def __init__(self, clauses: Iterable[Sequence[int]]) -> None:
        self._watching: dict[int, list[list[int]]] = {}  # watched literal -> clauses, the watched two in front
        self._true: set[int] = set()  # literals that follow without assumptions
        self._contradiction = False
        self._dropped: dict[Literals, int] = {}  # clauses dropped and their number
        self._held: dict[Literals, list[list[int]]] = {}
        for clause in clauses:
            self.add(clause)

    def add(self, clause: Sequence[int]) -> None:
        """Add a clause, and the literals that follow from it."""
        literals = list(dict.fromkeys(clause))
        if any(-literal in literals for literal in literals):
            return  # always true
        literals.sort(key=lambda literal: -literal in self._true)  # false ones last: watch the others
        self._held.setdefault(_key(clause), []).append(literals)
        free = [literal for literal in literals if -literal not in self._true]
        for literal in literals[:2] if len(literals) > 1 else ():
            self._watching.setdefault(literal, []).append(literals)
        if not free:
            self._contradiction = True
        elif len(free) == 1 and free[0] not in self._true:
            self._contradiction |= self._propagate(free) is None

    def drop(self, clause: Sequence[int]) -> None:
        """Remove a clause, for speed; literals that followed from it stay, since they were proved."""
        held = self._held.get(_key(clause))
        if not held:
            return
        literals = held.pop()
        for literal in literals[:2] if len(literals) > 1 else ():
            self._watching[literal] = [other for other in self._watching[literal] if other is not literals]
        self._dropped[_key(clause)] = self._dropped.get(_key(clause), 0) + 1

    def implies(self, clause: Sequence[int]) -> bool:
        """Whether unit propagation finds a contradiction if every literal of the clause is false.

        A dropped clause was proved, so it may be used again: solvers that restore clauses of eliminated variables do
        not write this into the proof.
        """
        if self._refutes(clause):
            return True
        if not self._dropped:
            return False
        for dropped in [key for key, count in self._dropped.items() for _ in range(count)]:
            self.add(dropped)
        self._dropped.clear()
        return self._refutes(clause)

    def _refutes(self, clause: Sequence[int]) -> bool:
        if self._contradiction or any(literal in self._true for literal in clause):
            return True
        denied = [-literal for literal in dict.fromkeys(clause) if -literal not in self._true]
        if any(-literal in denied for literal in denied):
            return True
        followed = self._propagate(denied)
        if followed is None:
            return True
        self._true.difference_update(followed)
        return False

    def _propagate(self, literals: Sequence[int]) -> list[int] | None:
        """Make literals true, and all that follow; return the new ones. If this fails, undo it and return None."""
        new: list[int] = []
        pending = list(literals)
        consistent = True
        while pending and consistent:
            literal = pending.pop()
            if literal in self._true:
                continue
            if -literal in self._true:
                consistent = False
                break
            self._true.add(literal)
            new.append(literal)
            still: list[list[int]] = []
            watching = self._watching.get(-literal, [])
            for place, clause in enumerate(watching):
                unit = self._rewatch(clause, -literal)
                if unit is None:
                    continue
                still.append(clause)
                if -unit in self._true:
                    consistent = False
                    still.extend(watching[place + 1 :])
                    break
                if unit not in self._true:
                    pending.append(unit)
            self._watching[-literal] = still
        if consistent:
            return new
        self._true.difference_update(new)
        return None

    def _rewatch(self, clause: list[int], false: int) -> int | None:
        """Watch another literal instead of ``false``; if there is none, return the literal that must be true."""
        if clause[0] == false:
            clause[0], clause[1] = clause[1], clause[0]
        if clause[0] in self._true:
            return clause[0]
        for place in range(2, len(clause)):
            if -clause[place] not in self._true:
                clause[1], clause[place] = clause[place], clause[1]
                self._watching.setdefault(clause[1], []).append(clause)
                return None
        return clause[0]


def _key(clause: Iterable[int]) -> Literals:
    return tuple(sorted(set(clause)))
