"""A call of a native solver in a thread of its own, which this thread waits for and stops, whenever Ctrl-C comes.

Locks of ``threading`` are Python code, which Ctrl-C can leave halfway: an event whose lock is never released, a thread
that counts as ended and works. So what is known of the call are the lengths of two lists, each changed in one step, and
a lock of the interpreter is only what the waiting thread sleeps on (decisions/0106-one-piece-of-minisat).
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from itertools import starmap
from typing import Any

LOOK_SECONDS = 0.08
"""The longest sleep."""


class SolverThread:
    """Calls of a solver in a thread of their own, one at a time.

    Parameters
    ----------
    interrupt : makes a call end soon, from another thread
    """

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._begun: list[int] = []
        self._answers: list[Any] = []
        self._bell = allocate_lock()

    def begin(self, call: Callable[[], Any]) -> None:
        """Begin a call; RuntimeError if no thread can be begun."""
        answers = self._answers
        self._bell = bell = allocate_lock()
        bell.acquire()

        def work() -> None:
            try:
                answer = call()
            except Exception as error:  # noqa: BLE001 - the thread that waits raises it
                answer = error
            answers.append(answer)
            bell.release()

        self._begun.extend(starmap(start_new_thread, [(work, ())]))  # Ctrl-C comes before it or after it

    @property
    def works(self) -> bool:
        """Whether the call has not ended."""
        return len(self._begun) > len(self._answers)

    def wait(self, seconds: float) -> None:
        """Sleep until the call ends, or for so long."""
        self._bell.acquire(timeout=max(0.0, min(LOOK_SECONDS, seconds)))

    def answer(self) -> Any:
        """What the last call returned; raises what it raised."""
        answer = self._answers[-1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def settle(self) -> None:
        """Stop the call if it works, and wait for its end; exceptions of signal handlers come after it.

        An exception that comes between two steps of this function ends it early. So each use of what the call works
        on begins with it.
        """
        raised: BaseException | None = None
        while len(self._begun) > len(self._answers):
            try:
                self._interrupt()
                self.wait(LOOK_SECONDS)
            except BaseException as error:  # noqa: BLE001 - it is raised below
                raised = error
        if raised is not None:
            raise raised
