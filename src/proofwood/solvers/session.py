"""A SAT solver that respects the time limit and Ctrl-C.

CaDiCaL, called through python-sat, holds the interpreter lock for the whole call and cannot be interrupted. So it works
in slices of a limited number of conflicts, which is adapted to the measured speed. Between slices, about ten times a
second, the deadline and Ctrl-C are checked. The solver keeps its learned clauses between slices.

The family of MiniSat can be interrupted, and needs it: each call begins its restarts and its limit of learned clauses
anew, so that in slices it gets nowhere on a formula that takes it seconds in one piece. It works in a thread of its
own, and this one looks at the clock (``thread``, decisions/0106-one-piece-of-minisat).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from pysat import solvers as pysat_solvers  # type: ignore[import-untyped]

from proofwood import memory
from proofwood.certificates.drup import Certificate
from proofwood.memory import MemoryLimitError
from proofwood.solvers.cardinality import sequential_counter
from proofwood.solvers.thread import LOOK_SECONDS, SolverThread

PROOF_SOLVERS = ("cadical153", "cadical195")
"""The solvers whose proofs can be checked by unit propagation only."""
INTERRUPTIBLE = ("minisat22", "maplechrono")
"""The solvers that stop at their next decision when another thread asks for it."""
SOLVERS = (*PROOF_SOLVERS, "cadical300", *INTERRUPTIBLE)
"""The solvers that can be stopped and keep their learned clauses. Glucose is not among them: it checks its budget of
conflicts only at restarts, which may be seconds apart for a hard formula."""

FIRST_SLICE = 100
"""Number of conflicts of the first slice, before the speed is known, or a thread is worth it."""
LARGEST_SLICE = 100_000
CLAUSES_BETWEEN_LOOKS = 4096
"""Number of clauses that are added between two checks of the memory and the clock."""
ADDRESSES_KEPT = 16 * 2**20
"""If the address space is limited, this many bytes must stay free, besides those that a formula may need to grow."""
GROWTH = 16
"""Bytes for each literal that a solver may allocate at once when it doubles its storage."""


class SatSession:
    """An incremental SAT solver with its clauses and a time limit.

    Parameters
    ----------
    solver : name of the solver in python-sat
    seconds : wall-clock limit of the session from now on; None for no limit
    proof : store all clauses and a DRUP proof, for :meth:`certificate`
    on_slice : called without arguments between slices, or while a solver works in its thread, about ten times a second;
        it must not use the session, but for ``counters``. If it raises KeyboardInterrupt, this counts as Ctrl-C, and
        any other exception propagates
    on_clauses : called without arguments while clauses are added, since large formulas take seconds to make; its
        exceptions propagate

    Attributes
    ----------
    stopped_by : why the last call of :meth:`solve` returned None: "time_limit", "memory_limit" or "interrupt";
        else None
    n_variables : the highest variable created by :meth:`new` and :meth:`block`
    n_clauses, n_literals : numbers of clauses and literals added so far
    n_calls : number of calls of :meth:`solve`

    Raises
    ------
    ValueError
        If the solver cannot be stopped, or ``proof`` is True and the solver writes no DRUP proof.

    Notes
    -----
    A KeyboardInterrupt outside :meth:`solve`, such as between two clauses, propagates as usual.
    """

    def __init__(
        self,
        *,
        solver: str = "cadical195",
        seconds: float | None = None,
        proof: bool = False,
        on_slice: Callable[[], None] | None = None,
        on_clauses: Callable[[], None] = lambda: None,
    ) -> None:
        if solver not in SOLVERS:
            raise ValueError(f"solver={solver!r} cannot be stopped: expected one of {', '.join(SOLVERS)}")
        if proof and solver not in PROOF_SOLVERS:
            raise ValueError(
                f"proof=True needs a solver that writes DRUP proofs, and solver={solver!r} does not: expected one of "
                f"{', '.join(PROOF_SOLVERS)}"
            )
        settings: dict[str, Any] = {"with_proof": True} if proof else {}
        if _lacks_memory():
            raise MemoryLimitError("no memory is left for a SAT solver: raise the memory limit")
        self._solver = pysat_solvers.Solver(name=solver, **settings)
        self.name = solver
        self.stopped_by: str | None = None
        self.n_variables = 0
        self.n_clauses = 0
        self.n_literals = 0
        self.n_calls = 0
        self._on_slice = on_slice
        self._on_clauses = on_clauses
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._slice = FIRST_SLICE
        self._thread = SolverThread(self._solver.interrupt)
        self._large = False
        self._clauses: list[list[int]] | None = [] if proof else None
        self._assumptions: list[int] = []
        self._values: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory of the solver; the session cannot be used afterwards."""
        self._thread.settle()
        self._solver.delete()

    # ------------------------------------------------------------------------------------------ variables and clauses

    def new(self) -> int:
        """Create a variable and return it; variables are numbered from 1."""
        self.n_variables += 1
        return self.n_variables

    def block(self, size: int) -> int:
        """Create ``size`` consecutive variables, and return the first one."""
        first = self.n_variables + 1
        self.n_variables += size
        return first

    def add(self, clause: Iterable[int]) -> None:
        """Add one clause over variables created by :meth:`new` or :meth:`block`; an empty clause is always false."""
        self.extend((clause,))

    def extend(self, clauses: Iterable[Iterable[int]]) -> None:
        """Add all ``clauses``, one by one."""
        self._thread.settle()
        add, kept = self._solver.add_clause, self._clauses
        for clause in clauses:
            literals = list(clause)
            add(literals)
            self.n_clauses += 1
            self.n_literals += len(literals)
            if kept is not None:
                kept.append(literals)
            if self.n_clauses % CLAUSES_BETWEEN_LOOKS == 0:
                if _lacks_memory(self.n_literals):
                    raise MemoryLimitError(
                        f"the SAT formula reached the memory limit at {self.n_clauses:,} clauses: raise the limit, or "
                        "choose another engine"
                    )
                self._on_clauses()

    def at_most(self, literals: Sequence[int], k: int) -> None:
        """Add clauses that let at most ``k`` of ``literals`` be true, by Sinz's sequential counter."""
        self.extend(sequential_counter(self, literals, k))

    def phases(self, literals: Iterable[int]) -> None:
        """Set the literals that the solver should try first; CaDiCaL may prefer the values of its last model."""
        self._thread.settle()
        self._solver.set_phases(list(literals))

    # -------------------------------------------------------------------------------------------------------- solving

    @property
    def seconds_left(self) -> float:
        """Seconds left until the time limit; inf without a limit, negative after it."""
        return float("inf") if self._deadline is None else self._deadline - time.monotonic()

    def allow(self, seconds: float | None) -> None:
        """Set a new limit of wall-clock seconds from now on; None for no limit."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def solve(self, assumptions: Iterable[int] = ()) -> bool | None:
        """Decide whether the clauses can be satisfied together with ``assumptions``.

        Returns
        -------
        bool or None
            None if the solver was stopped; ``stopped_by`` says by what. The session can still be used: a later call
            continues with all learned clauses.
        """
        self._assumptions = list(assumptions)
        self.stopped_by = None if self.seconds_left > 0 else "time_limit"
        self.n_calls += 1
        work = self._one_piece if self._large else self._one_slice
        try:
            if self.name in INTERRUPTIBLE:
                self._thread.settle()
                self._solver.clear_interrupt()
            while self.stopped_by is None:
                answer = work()
                if answer is not None:
                    if answer:
                        self._values = self._solver.get_model()
                    self.stopped_by = None
                    return answer
                self.stopped_by = self.stopped_by or self._look()
                if self.name in INTERRUPTIBLE:
                    work = self._one_piece
        except KeyboardInterrupt:
            self.stopped_by = "interrupt"
        finally:
            self._thread.settle()  # once more: an exception may have come as it began
        return None

    def _look(self) -> str | None:
        """Report, and what has to stop the solver, if anything."""
        if _lacks_memory(self.n_literals):
            return "memory_limit"
        if self._on_slice is not None:
            self._on_slice()
        return None if self.seconds_left > 0 else "time_limit"

    def _one_slice(self) -> bool | None:
        """Solve for a limited number of conflicts, and adapt this number to the time that it took."""
        aim = min(LOOK_SECONDS, self.seconds_left)
        self._solver.conf_budget(self._slice)
        before = time.monotonic()
        with interrupts_left_to_python():
            answer = self._solver.solve_limited(assumptions=self._assumptions)
        took = time.monotonic() - before
        if self.name in INTERRUPTIBLE:
            self._large = self._large or took > LOOK_SECONDS  # even so few conflicts hold up Ctrl-C
        elif answer is None:
            factor = min(2.0, max(0.1, aim / max(took, 1e-9)))
            self._slice = min(LARGEST_SLICE, max(1, int(self._slice * factor)))
        return None if answer is None else bool(answer)

    def _one_piece(self) -> bool | None:
        """Solve in a thread of its own; None if it had to be stopped."""
        self._solver.conf_budget(-1)
        with interrupts_left_to_python():
            try:
                self._thread.begin(lambda: self._solver.solve_limited(self._assumptions, expect_interrupt=True))
            except RuntimeError as error:
                raise MemoryLimitError(
                    "no thread can be begun for the SAT solver: raise the limit of memory, or that of threads"
                ) from error
            try:
                while self.stopped_by is None and self._thread.works:
                    self._thread.wait(self.seconds_left)
                    if self._thread.works:
                        self.stopped_by = self._look()
            finally:
                self._thread.settle()
        answer = self._thread.answer()
        return None if answer is None else bool(answer)

    # --------------------------------------------------------------------------------------------------------- answers

    def value(self, literal: int) -> bool:
        """Whether ``literal`` is true in the last model; variables that occur in no clause are false."""
        variable = abs(literal)
        true = variable <= len(self._values) and self._values[variable - 1] > 0
        return true == (literal > 0)

    def model(self) -> list[int]:
        """The last model: one literal for each variable that occurs in clauses, in the order of the variables."""
        return list(self._values)

    def core(self) -> list[int]:
        """Some of the last assumptions that contradict the clauses; empty if the clauses contradict each other."""
        self._thread.settle()
        return list(self._solver.get_core() or ())

    @property
    def counters(self) -> Mapping[str, int]:
        """Counts so far: calls, variables, clauses, literals, and the solver's conflicts, decisions, propagations."""
        inner = self._solver.accum_stats() or {}
        work = {name: int(inner[name]) for name in ("conflicts", "decisions", "propagations") if name in inner}
        sizes = {"variables": self.n_variables, "clauses": self.n_clauses, "literals": self.n_literals}
        return {"solver_calls": self.n_calls, **sizes, **work}

    # ----------------------------------------------------------------------------------------------------------- proof

    def proof(self) -> list[str]:
        """The lines of the DRUP proof so far: learned clauses, and deleted clauses with a leading ``d``."""
        if self._clauses is None:
            raise ValueError("this session stores no proof: create it with proof=True")
        return list(self._solver.get_proof() or ())

    def certificate(self, claim: str) -> Certificate:
        """The proof of the last answer of :meth:`solve`, which must have been False.

        The assumptions that were needed become clauses of one literal. The certificate proves that the clauses and
        these literals cannot all be true.
        """
        lines = self.proof()
        assert self._clauses is not None
        units = [[literal] for literal in self.core()]
        if not lines or lines[-1] != "0":
            lines.append("0")
        return Certificate(claim, tuple(tuple(clause) for clause in (*self._clauses, *units)), tuple(lines))


def _lacks_memory(n_literals: int = 0) -> bool:
    """Whether a solver should stop for lack of memory.

    If the address space is limited, the solver stops early, since a failed allocation would end the process.
    """
    if memory.addresses_limited():
        left = memory.room()
        lacks = memory.short() or (left is not None and left < ADDRESSES_KEPT + GROWTH * n_literals)
    else:
        lacks = memory.full()
    if lacks:
        memory.note_lack()
    return lacks


class _NotTheMainThread:
    """Replaces ``pysat.solvers.MainThread`` during a slice."""

    @staticmethod
    def check() -> bool:
        return False


@contextmanager
def interrupts_left_to_python() -> Iterator[None]:
    """Prevent python-sat from handling SIGINT (Ctrl-C) inside the solver.

    In the main thread, python-sat installs a handler that jumps out of the running solver and leaves it unusable
    (CaDiCaL then aborts the process at the next call). Python's own handler only sets a flag, which the interpreter
    checks after the slice. python-sat installs its handler in the main thread alone, so that others need nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = pysat_solvers.MainThread
    pysat_solvers.MainThread = _NotTheMainThread
    try:
        yield
    finally:
        pysat_solvers.MainThread = kept
