"""Progress is a live line on a terminal and in a notebook, and never in a worker."""

import os
import subprocess
import sys
import threading
import types

import joblib
import numpy as np
import pytest

from proofwood import OptimalTreeClassifier
from proofwood.estimators import live

FIT = (
    "import numpy as np; from proofwood import OptimalTreeClassifier; rng = np.random.default_rng(0);"
    "X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300);"
)


class Terminal:
    """Standard error of a terminal."""

    def __init__(self):
        self.texts = []

    def isatty(self):
        return True

    def write(self, text):
        self.texts.append(text)

    def flush(self):
        pass


def fitted(**options):
    rng = np.random.default_rng(0)
    return OptimalTreeClassifier(max_depth=2, verbose=1, **options).fit(
        rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    )


def in_a_terminal(code):
    """What a process with a terminal writes to it."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color"}  # one that can clear a line
    run = subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the end of a terminal
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert run.wait() == 0, b"".join(parts).decode()
    return b"".join(parts).decode()


def test_a_terminal_shows_one_line_that_renews_itself():
    said = in_a_terminal(FIT + "OptimalTreeClassifier(max_depth=2, time_limit=30, verbose=1).fit(X, y)")
    assert "of 30 s  objective" in said
    assert "gap 0" in said
    assert "\x1b[2K" in said, "the line is cleared before it is written anew"
    assert said.count("\n") <= 2


def test_workers_show_no_live_line():
    said = in_a_terminal(
        "import joblib; from proofwood.estimators.live import place;"
        "print(place(), joblib.Parallel(n_jobs=2)(joblib.delayed(place)() for _ in range(2)))"
    )
    assert "terminal [None, None]" in said


def test_threads_and_pipes_show_none(monkeypatch):
    assert live.place() is None, "standard error of a test is no terminal"
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert live.place() == "terminal"
    found = []
    thread = threading.Thread(target=lambda: found.append(live.place()))
    thread.start()
    thread.join()
    assert found == [None]
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(live.place)() for _ in range(2)) == [None, None]


def test_a_notebook_shows_one_display_that_renews_itself(monkeypatch):
    shown = []

    class Handle:
        def update(self, content, raw):
            assert raw
            shown.append(content["text/plain"])

    def display(content, raw, display_id):
        assert raw
        assert display_id
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    notebook = types.SimpleNamespace(get_ipython=lambda: shell, display=types.SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert live.place() == "notebook"
    fitted()
    assert shown[-1].endswith("gap 0")
    assert "of 60 s" in shown[-1] or "s  objective" in shown[-1]
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace()))
    assert live.place() is None, "IPython in a pipe"


def test_a_program_that_handles_messages_gets_lines(monkeypatch, caplog):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with caplog.at_level("INFO", logger="proofwood"):
        fitted()
    assert any("objective" in message for message in caplog.messages)
    assert terminal.texts == []


def test_the_last_text_stays(monkeypatch):
    texts = []

    @live.contextmanager
    def terminal():
        yield texts.append

    monkeypatch.setattr(live, "_terminal", terminal)
    with live.live_line("terminal") as show:
        for k in range(100):
            show(str(k))
    assert texts[0] == "0"
    assert texts[-1] == "99"
    assert len(texts) < 20
