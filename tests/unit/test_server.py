"""A process that answers one question after the other: answers, limits, deaths, ends."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proofwood.solvers.server import Server, ServerTimeout
from proofwood.solvers.worker import WorkerError
from tests.interrupts import interrupted
from tests.processes import alive

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def make_counter(start: int) -> Callable[[Any], Any]:
    """Answers with its process, the number of the question and the question; some questions are orders."""
    asked = start

    def answer(question: Any) -> Any:
        nonlocal asked
        asked += 1
        match question:
            case ("sleep", seconds):
                time.sleep(seconds)
            case ("raise", text):
                raise ArithmeticError(text)
            case ("die", number):
                os.kill(os.getpid(), number)
                time.sleep(10)
            case "lambda":
                return lambda: 0
        return os.getpid(), asked, question

    return answer


def make_late(seconds: float) -> Callable[[Any], Any]:
    time.sleep(seconds)
    return lambda question: os.getpid()


def make_deaf() -> Callable[[Any], Any]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return make_counter(0)


def make_nothing() -> Callable[[Any], Any]:
    raise ArithmeticError("no such table")


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())  # other tests may have left joblib's
    yield
    gc.collect()
    assert set(multiprocessing.active_children()) <= before


def test_one_child_answers_all_questions() -> None:
    with Server(make_counter, 10) as server:
        assert server.pid is None
        pid, asked, question = server.ask("first")
        assert (pid, asked, question) == (server.pid, 11, "first")
        assert server.ask("second", seconds=60) == (pid, 12, "second")
    assert server.pid is None
    assert server.ask("third")[1] == 11  # after the end, another child
    server.close()


def test_a_child_at_work_is_replaced_when_time_is_over() -> None:
    with Server(make_counter, 0) as server:
        pid = server.ask("ready")[0]
        started = time.monotonic()
        with pytest.raises(ServerTimeout):
            server.ask(("sleep", 60.0), seconds=0.3)
        assert time.monotonic() - started < 2
        assert server.pid not in (None, pid)
        assert server.ask("again")[1] == 1


def test_a_child_that_starts_slowly_is_left_to_do_so() -> None:
    with Server(make_late, 0.5) as server:
        with pytest.raises(ServerTimeout):
            server.ask("too early", seconds=0.05)
        pid = server.pid
        assert server.ask("in time") == pid


def test_a_child_that_raises_lives_on() -> None:
    with Server(make_counter, 0) as server:
        with pytest.raises(WorkerError, match=r"(?s)in answer.*ArithmeticError: no such number"):
            server.ask(("raise", "no such number"))
        with pytest.raises(WorkerError, match="pickle"):
            server.ask("lambda")
        assert server.ask("still there")[1] == 3


def test_a_child_that_cannot_be_set_up_is_told_each_time() -> None:
    with Server(make_nothing) as server:
        for _ in range(2):
            with pytest.raises(WorkerError, match="no such table"):
                server.ask("anything")
            assert server.pid is None


@posix
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_child_that_dies_is_told_with_the_cause_and_replaced(number: int) -> None:
    with Server(make_counter, 0) as server:
        server.ask("ready")
        with pytest.raises(WorkerError, match=f"ended by {signal.Signals(number).name}"):
            server.ask(("die", number))
        assert server.ask("again")[1] == 1


@posix
def test_a_child_that_died_between_questions_is_told_and_replaced() -> None:
    with Server(make_counter, 0) as server:
        os.kill(server.ask("ready")[0], signal.SIGKILL)
        time.sleep(0.2)
        with pytest.raises(WorkerError, match="ended by SIGKILL"):
            server.ask("hello")
        assert server.ask("again")[1] == 1


@posix
def test_a_child_that_ignores_sigterm_is_killed() -> None:
    with Server(make_deaf) as server:
        pid = server.ask("ready")[0]
    with pytest.raises(ProcessLookupError):  # gone, and no zombie
        os.kill(pid, 0)


@posix
def test_ctrl_c_ends_the_child() -> None:
    with Server(make_counter, 0) as server:
        pid = server.ask("ready")[0]

        def ask() -> None:
            with pytest.raises(KeyboardInterrupt):
                server.ask(("sleep", 60.0))

        interrupted(ask)
        assert server.pid is None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert server.ask("again")[1] == 1


@posix
def test_the_child_ends_with_the_server_that_nobody_refers_to() -> None:
    server = Server(make_counter, 0)
    pid = server.ask("ready")[0]
    del server
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_pickled_copy_starts_a_child_of_its_own() -> None:
    with Server(make_counter, 5) as server:
        pid = server.ask("ready")[0]
        with pickle.loads(pickle.dumps(server)) as copy:
            other, asked, _ = copy.ask("ready")
            assert other != pid
            assert asked == 6


def test_threads_wait_for_each_other() -> None:
    answers: list[Any] = []
    with Server(make_counter, 0) as server:
        threads = [threading.Thread(target=lambda n=n: answers.append((n, server.ask(n)[2]))) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == 8
    assert all(asked == answered for asked, answered in answers)


@posix
@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), 9)"])
def test_a_busy_child_ends_with_the_program(tmp_path: Path, end: str) -> None:
    """Also with one that is killed, and with a script that is not guarded by its name."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, threading, time\n"
        "from proofwood.solvers.server import Server\n"
        "from test_server import make_counter\n"
        "server = Server(make_counter, 0)\n"
        "print(server.ask('ready')[0], flush=True)\n"
        "threading.Thread(target=lambda: server.ask(('sleep', 60.0)), daemon=True).start()\n"
        f"time.sleep(0.3)\n{end}\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    ended = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    pid = int(ended.stdout)
    for _ in range(30):
        if not alive(pid):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the child outlived the program")
