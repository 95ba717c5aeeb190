"""Work in a child process: answers, messages, limits, deaths."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proofwood.solvers import worker
from proofwood.solvers.worker import Send, WorkerError, run
from tests.interrupts import interrupted
from tests.processes import alive

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def doubled(send: Send, number: int) -> int:
    send(number)
    return 2 * number


def sleeper(send: Send, seconds: float, answer: str) -> str:
    send("asleep")
    time.sleep(seconds)
    return answer


def deaf_to_sigterm(send: Send) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    send(os.getpid())
    while True:
        time.sleep(1)


def crash(send: Send, number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(10)


def leave(send: Send, code: int) -> None:
    os._exit(code)


def fail(send: Send) -> None:
    raise ArithmeticError("no such number")


def unpicklable(send: Send) -> Any:
    return lambda: 0


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Any:
    before = set(multiprocessing.active_children())  # other tests may have left joblib's
    yield
    assert set(multiprocessing.active_children()) <= before


def test_value_and_messages() -> None:
    messages: list[Any] = []
    outcome = run(doubled, 21, on_message=messages.append)
    assert outcome.value == 42
    assert outcome.last == 21
    assert outcome.stopped_by is None
    assert messages == [21]


def test_the_time_limit_ends_the_child_and_keeps_its_last_message() -> None:
    outcome = run(sleeper, 60.0, "late", seconds=1.5)
    assert outcome.stopped_by == "time_limit"
    assert outcome.value is None
    assert outcome.last == "asleep"
    assert outcome.seconds < 3


def test_no_child_is_started_where_there_is_no_time_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker._Work, "start", lambda *_: pytest.fail("a child was started"))
    assert run(doubled, 21, seconds=0.1).stopped_by == "time_limit"


@posix
def test_a_child_that_ignores_sigterm_is_killed() -> None:
    outcome = run(deaf_to_sigterm, seconds=1.5)
    assert outcome.stopped_by == "time_limit"
    assert outcome.seconds < 3
    with pytest.raises(ProcessLookupError):  # gone, and no zombie
        os.kill(outcome.last, 0)


@posix
def test_a_child_ends_with_a_program_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "from proofwood.solvers.worker import run\n"
        "from test_worker import deaf_to_sigterm\n"
        "def end(pid):\n"
        "    print(pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "run(deaf_to_sigterm, on_message=end)\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command, environment = [sys.executable, str(script)], {**os.environ, "PYTHONPATH": paths}
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=30, check=False)
    pid = int(ended.stdout)
    for _ in range(100):
        if not alive(pid):
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the child outlives the program")


@posix
def test_ctrl_c_ends_the_child_and_keeps_its_last_message() -> None:
    outcome = interrupted(lambda: run(sleeper, 60.0, "late"), 1.5)
    assert outcome.stopped_by == "interrupt"
    assert outcome.last == "asleep"
    assert outcome.seconds < 3


def test_ctrl_c_raised_by_the_callback_counts() -> None:
    def interrupt(message: Any) -> None:
        raise KeyboardInterrupt

    assert run(sleeper, 60.0, "late", on_message=interrupt).stopped_by == "interrupt"


def test_other_exceptions_of_the_callback_propagate_and_end_the_child() -> None:
    def break_down(message: Any) -> None:
        raise LookupError("told so")

    with pytest.raises(LookupError, match="told so"):
        run(sleeper, 60.0, "late", on_message=break_down)


def test_what_the_child_raises_is_told_with_its_traceback() -> None:
    with pytest.raises(WorkerError, match=r"(?s)in fail.*ArithmeticError: no such number"):
        run(fail)


def test_an_answer_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(WorkerError, match="pickle"):
        run(unpicklable)


@posix
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGSEGV, "ended by SIGSEGV and left no answer"),
        (signal.SIGKILL, r"ended by SIGKILL \(often because memory"),
    ],
)
def test_a_child_that_dies_is_told_with_the_cause(number: int, message: str) -> None:
    with pytest.raises(WorkerError, match=message):
        run(crash, number)


def test_a_child_that_leaves_is_told_with_its_exit_code() -> None:
    with pytest.raises(WorkerError, match="exit code 3"):
        run(leave, 3)


def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(
        "from proofwood.solvers.worker import run\n"
        "print('started')\n"
        "from tests.unit.solvers.test_worker import answer\n"
        "print(run(answer).value)\n"
    )
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, env=_with_tests())
    assert told.stderr == ""
    assert told.stdout.split() == ["started", "42"]


def answer(send: Send) -> int:
    return 42


def _with_tests() -> dict[str, str]:
    root = str(Path(__file__).parents[3])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
