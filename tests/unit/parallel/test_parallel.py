"""Executors give the same results in any order, survive lost workers; checkpoints survive torn files."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proofwood.parallel import executors
from proofwood.parallel.checkpoint import Checkpoint, read_lines
from proofwood.parallel.executors import (
    DaskExecutor,
    JoblibExecutor,
    SerialExecutor,
    WorkersLostError,
    make_executor,
)
from proofwood.parallel.progress import Progress, Reporter


def add(shared: int, item: int) -> int:
    return shared + item


def fail_at_three(shared: int, item: int) -> int:
    if item == 3:
        raise ZeroDivisionError(f"no {item}")
    return item


def die_once(shared: str, item: int) -> int:
    mark = Path(shared)
    if item == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * item


def die(shared: None, item: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return item


class FreezesWhenSent:
    """A result that stops its process when it is sent."""

    def __reduce__(self) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)
        return FreezesWhenSent, ()


def freeze(when: str, item: int) -> Any:
    if item == 1 and when == "work":
        os.kill(os.getpid(), signal.SIGSTOP)
    return FreezesWhenSent() if item == 1 and when == "result" else item


def nap(seconds: float, item: int) -> int:
    time.sleep(seconds)
    return item


def late(shared: None, item: int) -> int:
    raise TimeoutError("an error of the work")


# ---------------------------------------------------------------------------------------------------------- executors


@pytest.mark.parametrize("executor", [SerialExecutor(), JoblibExecutor(), JoblibExecutor(2)])
def test_every_item_is_worked_on_once(executor: Any) -> None:
    assert sorted(executor.run(add, 100, [5, 6, 7])) == [(0, 105), (1, 106), (2, 107)]
    assert list(executor.run(add, 100, [])) == []


@pytest.mark.parametrize("executor", [SerialExecutor(), JoblibExecutor(2)])
def test_an_error_of_the_work_is_raised_as_it_is(executor: Any) -> None:
    with pytest.raises(ZeroDivisionError, match="no 3"):
        list(executor.run(fail_at_three, 0, [1, 2, 3, 4]))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_work_of_a_lost_process_begins_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        done = sorted(JoblibExecutor(2).run(die_once, str(tmp_path / "died"), [0, 1, 2, 3]))
    assert done == [(0, 0), (1, 10), (2, 20), (3, 30)]
    assert "a worker was lost" in caplog.text


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_processes_that_always_die_are_an_error() -> None:
    with pytest.raises(WorkersLostError, match="memory"):
        list(JoblibExecutor(2).run(die, None, [1, 2]))


@pytest.mark.needs("distributed")
def test_a_cluster_without_workers_is_an_error() -> None:
    import distributed

    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=2) as client,
        pytest.raises(WorkersLostError, match="has no workers"),
    ):
        list(DaskExecutor(client=client).run(add, 100, [5]))


@pytest.mark.parametrize("times", [1, 9])
@pytest.mark.needs("distributed")
def test_workers_that_die_while_data_are_sent_are_lost(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        sent, failures = client.scatter, [distributed.comm.CommClosedError("closed")] * times

        def scatter(*args: Any, **kwargs: Any) -> Any:
            if failures:
                raise failures.pop()
            return sent(*args, **kwargs)

        monkeypatch.setattr(client, "scatter", scatter)
        run = DaskExecutor(client=client).run(add, 100, [5])
        if times == 1:
            assert list(run) == [(0, 105)]
        else:
            with pytest.raises(WorkersLostError, match="4 times in a row"):
                list(run)


@pytest.mark.needs("distributed")
def test_the_time_of_a_run_on_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    monkeypatch.setattr(executors, "GRACE", 60.0)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = DaskExecutor(client=client, ahead=0)
        done = list(executor.run(nap, 0.05, range(1000), seconds=1.0))
        assert done == [(index, index) for index in range(len(done))]  # those at work ended, and no others began
        assert len(done) <= 21
        assert list(executor.run(nap, 0.0, range(3), seconds=0.0)) == []
        assert len(list(executor.run(nap, 0.0, range(3), seconds=1e300))) == 3
        with pytest.raises(TimeoutError, match="an error of the work"):
            list(executor.run(late, None, [1], seconds=600.0))


@pytest.mark.slow
@pytest.mark.needs("distributed")
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")
def test_a_run_does_not_wait_for_a_worker_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    monkeypatch.setattr(executors, "GRACE", 1.0)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        process = next(iter(client.run(os.getpid).values()))
        for when in ("work", "result", "scatter"):
            if when == "scatter":
                os.kill(process, signal.SIGSTOP)
            done: list[int] = []
            begin = time.monotonic()
            run = DaskExecutor(client=client, ahead=0).run(freeze, when, [0, 1, 2], seconds=3.0)
            try:
                with pytest.raises(WorkersLostError, match="do not answer"):
                    done.extend(index for index, _ in run)
                assert time.monotonic() - begin < 30
            finally:
                os.kill(process, signal.SIGCONT)
            assert done == ([] if when == "scatter" else [0])


def test_names_and_numbers_of_executors_are_checked() -> None:
    with pytest.raises(ValueError, match="expected one of 'serial', 'joblib', 'dask'"):
        make_executor("threads")
    with pytest.raises(ValueError, match="n_jobs=0"):
        make_executor("joblib", 0)
    with pytest.raises(ValueError, match="client is for"):
        make_executor("joblib", 2, client=object())  # type: ignore[arg-type]
    own = SerialExecutor()
    assert make_executor(own) is own


def test_without_dask_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"proofwood\[dask\]"):
        make_executor("dask", 2)


# ----------------------------------------------------------------------------------------------------------- progress


def test_progress_is_told_to_a_callback() -> None:
    seen: list[Progress] = []
    with Reporter(10, "rows", callback=seen.append, done=2) as reporter:
        reporter.advance(3)
        reporter.advance(5)
    assert [(p.done, p.total) for p in seen] == [(5, 10), (10, 10)]


def test_without_a_terminal_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), Reporter(4, "rows", verbose=1) as reporter:
        reporter.advance(4)
    assert "rows: 4 of 4" in caplog.text


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with Reporter(4, "rows", verbose=1) as reporter:
        reporter.advance(4)
    assert "4/4" in screen.getvalue()


# --------------------------------------------------------------------------------------------------------- checkpoints


def written(path: Path, rows: list[int], total: int = 4) -> Checkpoint:
    checkpoint = Checkpoint(path, {"kind": "test"}, total)
    checkpoint.add([{"row": row, "value": f"ä{row}"} for row in rows])
    checkpoint.finish()
    return checkpoint


def test_the_file_depends_on_the_records_only(tmp_path: Path) -> None:
    written(tmp_path / "a", [0, 1, 2, 3])
    written(tmp_path / "b", [3, 1])
    assert written(tmp_path / "b", [0, 2, 1]).complete
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert [json.loads(line)["row"] for line in (tmp_path / "a").read_text("utf-8").splitlines()[1:]] == [0, 1, 2, 3]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_a_file_torn_anywhere_is_continued(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    written(whole, [0, 1, 2, 3])
    content = whole.read_bytes()
    for end in [0, *range(2, len(content) + 1)]:
        torn.write_bytes(content[:end])
        checkpoint = Checkpoint(torn, {"kind": "test"}, 4)
        assert len(checkpoint.records) == max(0, content[:end].count(b"\n") - 1)
        checkpoint.close()
        written(torn, [0, 1, 2, 3])
        assert torn.read_bytes() == content


def test_a_torn_line_may_have_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    written(path, [0, 1])
    path.write_bytes(path.read_bytes() + b'{"row":2,"va\n')
    assert sorted(written(path, [2]).records) == [0, 1, 2]


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    written(path, [0, 1])
    before = path.read_bytes()
    with pytest.raises(ValueError, match="its 'kind' is 'test', but this run has 'other'"):
        Checkpoint(path, {"kind": "other"}, 4)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="the row 1"):
        Checkpoint(path, {"kind": "test"}, 1)
    for content, message in (
        (b"a,b\n1,2\n", "line 1"),
        (b"nothing of ours", "holds no results"),
        (b'{"a":1}\n{"row":1}\n', "expected a header"),
        (b'{"version":99}\n', "version 99"),
        (before.replace(b'"row":0', b'"row":'), "line 2.*damaged"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            Checkpoint(path, {"kind": "test"}, 4)
        assert path.read_bytes() == content


def test_a_run_without_a_record_leaves_no_header(tmp_path: Path) -> None:
    path = tmp_path / "a"
    Checkpoint(path, {"kind": "wrong"}, 4).close()
    assert written(path, [0]).header == {"version": 2, "kind": "test"}
    assert read_lines(path)[0] == {"version": 2, "kind": "test"}


SLEEPER = """
import sys, time
from proofwood.parallel.executors import make_executor
def nap(shared, item):
    time.sleep(0.05 if item < 2 else 60)
    return item
if __name__ == "__main__":
    for index, _ in make_executor("joblib", 2).run(nap, None, list(range(8))):
        print(index, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a child")
def test_ctrl_c_ends_a_run_at_once(tmp_path: Path) -> None:
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER)
    child = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() in ("0", "1")
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert time.monotonic() - begin < 20
    assert "KeyboardInterrupt" in errors
