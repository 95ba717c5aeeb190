"""A SAT session: answers, cores, phases, the clock, Ctrl-C, cardinality."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulas import pigeonholes
from proofwood.solvers.cardinality import Totalizer, network_at_most, sequential_counter
from proofwood.solvers.session import INTERRUPTIBLE, SOLVERS, SatSession
from strategies import examples


@pytest.mark.parametrize("solver", SOLVERS)
def test_answers_values_and_cores(solver: str) -> None:
    with SatSession(solver=solver) as session:
        a, b, c = (session.new() for _ in range(3))
        session.extend([[a, b], [-a, c]])
        assert session.solve([a]) is True
        assert session.value(a)
        assert session.value(c)
        assert not session.value(-c)
        assert session.solve([-a, -b, c]) is False
        assert set(session.core()) == {-a, -b}
        session.phases([a, -b])
        assert session.solve() is True
        session.add([-a])
        assert session.solve([-b]) is False
        assert session.core() == [-b]
        session.add([])
        assert session.solve() is False
        assert session.core() == []
        assert session.stopped_by is None
        assert session.counters["solver_calls"] == 5
        assert session.counters["clauses"] == 4
        assert session.counters["literals"] == 5
        assert session.counters["variables"] == 3


def test_phases_are_tried_first() -> None:
    for wanted in ([1, -2, 3, -4, 5, -6], [-1, 2, -3, 4, -5, 6]):
        with SatSession() as session:
            session.add([session.new() for _ in range(6)])
            session.phases(wanted)
            assert session.solve() is True
            assert session.model() == wanted


@pytest.mark.parametrize("solver", ["cadical195", "cadical153", "minisat22", "maplechrono"])
def test_the_deadline_is_kept_and_the_session_lives_on(solver: str) -> None:
    calls = []
    with SatSession(solver=solver, seconds=0.6, on_slice=lambda: calls.append(time.monotonic())) as session:
        pigeonholes(session, 12)
        begun = time.process_time()  # of this process: others may hold it up
        assert session.solve() is None
        assert session.stopped_by == "time_limit"
        assert time.process_time() - begun < 1.1
        assert len(calls) > 3
        assert session.solve() is None  # nothing is left of the budget
        assert session.seconds_left < 0


def test_a_keyboard_interrupt_between_slices_ends_the_solve() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with SatSession(on_slice=interrupt) as session:
        pigeonholes(session, 10)
        assert session.solve() is None
        assert session.stopped_by == "interrupt"
        free = session.new()
        session.add([free])
        assert session.solve([-free]) is False
        assert session.core() == [-free]


def test_other_exceptions_of_the_callback_propagate() -> None:
    def fail() -> None:
        raise LookupError("told so")

    with SatSession(on_slice=fail) as session:
        pigeonholes(session, 10)
        with pytest.raises(LookupError, match="told so"):
            session.solve()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("solver", ["cadical195", "minisat22"])
def test_ctrl_c_reaches_a_running_solver(solver: str) -> None:
    program = f"""
import time
from formulas import pigeonholes
from proofwood.solvers.session import SatSession
told = False
def running():
    global told
    if not told:
        print("running", flush=True)
    told = True
session = SatSession(solver={solver!r}, on_slice=running)
pigeonholes(session, 12)
for _ in range(2):
    told = False
    answer = session.solve()
    print(answer, session.stopped_by, time.monotonic(), flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout is not None
    for _ in range(2):  # the second time shows that the solver survived the first
        assert child.stdout.readline() == "running\n"
        time.sleep(0.1)  # into a slice of the solver
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        answer, stopped_by, ended = child.stdout.readline().split()
        assert (answer, stopped_by) == ("None", "interrupt")
        assert float(ended) - sent < 0.5
    assert child.wait(10) == 0
    child.stdout.close()


def run_apart(program: str) -> str:
    """What a program prints that may hang or crash."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("solver", INTERRUPTIBLE)
def test_ctrl_c_at_any_moment_leaves_a_solver_that_answers(solver: str) -> None:
    told = run_apart(f"""
import itertools, random, signal
from formulas import pigeonholes
from proofwood.solvers.session import SatSession
signal.signal(signal.SIGVTALRM, signal.default_int_handler)  # Maple has a use of its own for SIGALRM
moments, seen = random.Random(0), set()
for _ in range(60):
    with SatSession(solver={solver!r}) as session:
        pigeonholes(session, 7)
        answer = None
        for turn in itertools.count():
            try:
                if turn < 4:
                    signal.setitimer(signal.ITIMER_VIRTUAL, moments.uniform(1e-4, 0.01))
                answer = session.solve()
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            except KeyboardInterrupt:  # before or after the solve
                continue
            seen.add((answer, session.stopped_by))
            if answer is not None:
                break
        assert answer is False
print(sorted(map(str, seen)))
""")
    assert told == str(["(False, None)", "(None, 'interrupt')"])


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("gap", [0, 3e-5, 3e-4])
def test_nothing_works_after_a_solve_that_signals_stopped(gap: float) -> None:
    told = run_apart(f"""
import random, signal, time
from formulas import pigeonholes
from proofwood.solvers.session import SatSession
moments, seconds, early = random.Random(0), 0.01, 0.0
left = []
def ring(number, frame):
    if left:
        left.pop()
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
session = SatSession(solver="minisat22")
pigeonholes(session, 12)
seen, running = set(), 0
for _ in range(150):
    state = "outside"
    try:
        left[:] = [1, 2] if {gap} else [1]  # signals that raise
        session.allow(seconds)
        signal.setitimer(signal.ITIMER_REAL, max(1e-4, seconds - early + moments.uniform(-1e-4, 1e-4)), {gap})
        answer = session.solve()
        assert answer is None
        state = session.stopped_by
        time.sleep(1e-3)
    except KeyboardInterrupt:
        pass
    left.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)
    early += 2e-5 if state != "interrupt" else -2e-5  # so that signals come about when the time is over
    seen.add(state)
    if not session._thread.works:
        continue
    running += 1  # the exception came between two steps: the next use settles it
    session.extend([])
    assert not session._thread.works
session.close()
print("interrupt" in seen, running < 15)
""")
    assert told == "True True"


@pytest.mark.parametrize("solver", INTERRUPTIBLE)
def test_one_piece_ends_with_what_the_callback_raises(solver: str) -> None:
    calls = []

    def fail() -> None:
        calls.append(time.monotonic())
        if len(calls) > 3:
            raise LookupError("told so")

    with SatSession(solver=solver, on_slice=fail) as session:
        pigeonholes(session, 12)
        with pytest.raises(LookupError, match="told so"):
            session.solve()
        free = session.new()
        session.add([free])
        assert session.solve([-free]) is False
        assert session.core() == [-free]


def test_unfit_solvers_are_refused_with_those_that_fit() -> None:
    with pytest.raises(ValueError, match="cannot be stopped: expected one of cadical153"):
        SatSession(solver="kissat404")
    with pytest.raises(ValueError, match="cannot be stopped: expected one of cadical153"):
        SatSession(solver="glucose4")
    with pytest.raises(ValueError, match="solver='minisat22' does not: expected one of cadical153"):
        SatSession(solver="minisat22", proof=True)
    with pytest.raises(ValueError, match="stores no proof"):
        SatSession().proof()


# --------------------------------------------------------------------------------------------------------- cardinality


def allowed(session: SatSession, literals: list[int]) -> set[tuple[bool, ...]]:
    """Values of the literals that the clauses leave possible."""
    possible = set()
    for signs in product([False, True], repeat=len(literals)):
        if session.solve([literal if sign else -literal for literal, sign in zip(literals, signs, strict=True)]):
            possible.add(signs)
    return possible


@pytest.mark.parametrize("by", ["counter", "network"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_at_most_k(by: str, n: int) -> None:
    for k in range(-1, n + 2):
        with SatSession() as session:
            literals = [session.new() * (-1) ** i for i in range(n)]
            if by == "counter":
                session.at_most(literals, k)
            else:
                session.extend(network_at_most(session, literals, k))
            extra = session.new()  # not one of their own
            session.add([extra])
            expected = {signs for signs in product([False, True], repeat=n) if sum(signs) <= k}
            assert allowed(session, literals) == expected


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 2), (7, 6), (9, 4)])
def test_the_sequential_counter_has_the_size_that_sinz_states(n: int, k: int) -> None:
    with SatSession() as session:
        literals = [session.new() for _ in range(n)]
        clauses = list(sequential_counter(session, literals, k))
        assert len(clauses) == 2 * n * k + n - 3 * k - 1
        assert session.n_variables == n + k * (n - 1)


@examples(0.2)
@given(st.lists(st.integers(1, 4), max_size=8), st.integers(0, 12))
def test_the_totalizer_bounds_the_sum_and_can_be_tightened(weights: list[int], cap: int) -> None:
    with SatSession() as session:
        literals = [session.new() for _ in weights]
        totalizer = Totalizer(session, literals, weights, cap=cap)
        for bound in range(cap + 1):
            for signs in product([False, True], repeat=len(weights)):
                chosen = [x if sign else -x for x, sign in zip(literals, signs, strict=True)]
                total = sum(weight for weight, sign in zip(weights, signs, strict=True) if sign)
                assert session.solve([*chosen, *totalizer.at_most(bound)]) is (total <= bound)


def test_bounds_and_weights_out_of_range_are_refused() -> None:
    with SatSession() as session:
        literals = [session.new(), session.new()]
        totalizer = Totalizer(session, literals, cap=1)
        with pytest.raises(ValueError, match="expected 0 to 1, the cap of this totalizer"):
            totalizer.at_most(2)
        with pytest.raises(ValueError, match="positive integers"):
            Totalizer(session, literals, [1, 0], cap=1)
        with pytest.raises(ValueError, match="cap=-1"):
            Totalizer(session, literals, cap=-1)


def test_a_sum_that_takes_long_to_state_can_be_left() -> None:
    """Sums of weights that are all different grow with the square of their number."""

    class Over(Exception):
        pass

    calls = []

    def check() -> None:
        calls.append(session.n_clauses)
        if len(calls) > 50:
            raise Over

    with SatSession() as session:
        literals = [session.new() for _ in range(64)]
        with pytest.raises(Over):
            Totalizer(session, literals, [2**i for i in range(64)], cap=2**64, check=check)
        assert max(after - before for before, after in pairwise(calls)) < 1000
        assert session.solve([-literals[0], literals[1]]) is True  # the session can be used on
