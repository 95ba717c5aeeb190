"""Limit the memory of a search, by the limit that the user sets and by the limits of the system.

A search runs :func:`within` a limit. Native searches check it about every 50 ms: near the limit, their caches stop
growing and release memory; at the limit, they end with the best answer so far. Python code calls :func:`require`
before it makes large arrays, and :func:`full` in long loops. On Linux, the limit applies to the memory of the process
and its solver processes; on macOS and Windows, to the process only. Other systems do not report memory.
"""

from __future__ import annotations

import numbers
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from proofwood import _native

T = TypeVar("T")

SHARE = 0.8
"""Without a limit of the user, the limit is this share of the available memory."""
EARLY = 0.75
"""The share of the limit at which caches stop growing."""
LATE = 0.95
"""The share of the limit at which a search ends; the rest is for allocations between two checks."""

LOOK = 0.05
"""Seconds between two checks of the free memory of the system, and of the memory of the process in a search."""

ASKED = 2**20
""":func:`require` checks only amounts above this number of bytes."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


class MemoryLimitError(MemoryError):
    """Raised when the memory limit, or the memory of the system, is not sufficient."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        note_lack()


class _Use(NamedTuple):
    """Amounts of memory in bytes: resident, address space, and private data; -1 if unknown or without a limit."""

    resident: int
    addresses: int
    data: int


class _Here(threading.local):
    ceiling: _Use | None = None
    early: _Use | None = None
    lacked: bool = False


_here = _Here()
_NONE = _Use(-1, -1, -1)


def bytes_of(memory_limit: object) -> int | None:
    """Return a memory limit in bytes: "4GB" means 4_000_000_000, "4GiB" a multiple of 2**30; None stays None.

    Raises
    ------
    ValueError
        If it is not a number of bytes above 0.
    """
    if memory_limit is None:
        return None
    number: float = 0
    if isinstance(memory_limit, str):
        match = _TEXT.fullmatch(memory_limit)
        if match is not None and match[2].lower() in _UNITS:
            number = float(match[1]) * _UNITS[match[2].lower()]
    elif isinstance(memory_limit, numbers.Integral) and not isinstance(memory_limit, bool):
        number = int(memory_limit)
    if not 1 <= number < 2**62:
        raise ValueError(
            f"memory_limit={memory_limit!r} is not an amount of memory: expected bytes as an integer from 1, a text "
            "such as '4GB' or '500MB', or None for a share of the available memory"
        )
    return int(number)


@contextmanager
def within(memory_limit: int | str | None) -> Iterator[None]:
    """A context in which searches of this thread may add ``memory_limit`` bytes to the memory of the process.

    Parameters
    ----------
    memory_limit : bytes, a text such as "4GB", or None for a share of :func:`available`. Limits of the address space
        (``ulimit -v``) and data (``ulimit -d``) are always obeyed; so is the limit of an outer context

    Raises
    ------
    ValueError
        If ``memory_limit`` is not an amount of memory.
    """
    wanted = bytes_of(memory_limit)
    kept = _here.early, _here.ceiling
    if not limited():
        _here.lacked = False
    try:
        _obey(*_ceilings(wanted))
        yield
    finally:
        was_full = full()
        _obey(*kept)
        if was_full:
            _native.trim_memory()


def limited() -> bool:
    """Whether this thread is in a context of :func:`within`."""
    return _here.ceiling is not None


def note_lack() -> None:
    """Record that lack of memory ended a search, until the next context of :func:`within` begins."""
    _here.lacked = True


def lacked() -> bool:
    """Whether lack of memory ended a search in the current context of :func:`within`, or else in the last one."""
    return _here.lacked


def _ceilings(wanted: int | None) -> list[_Use]:
    """The amounts at which caches stop growing, and at which a search ends, in a context within the current one."""
    now = _Use(*_native.memory_use())
    free = _free(now.resident) if wanted is None else None
    added = wanted if free is None else int(SHARE * free)
    rooms = [added, _limit_room("RLIMIT_AS", now.addresses), _limit_room("RLIMIT_DATA", now.data)]
    found = []
    for share, outer in ((EARLY, _here.early), (LATE, _here.ceiling)):
        own = (
            -1 if room is None or used < 0 else used + int(share * room) for room, used in zip(rooms, now, strict=True)
        )
        pairs = zip(own, outer or _NONE, strict=True)
        found.append(_Use(*(max(pair) if min(pair) < 0 else min(pair) for pair in pairs)))
    return found


def _obey(early: _Use | None, ceiling: _Use | None) -> None:
    _here.early, _here.ceiling = early, ceiling
    _native.set_memory_ceiling(early or _NONE, ceiling or _NONE)


def full() -> bool:
    """Whether this thread has reached its memory limit."""
    return _native.memory_state() == 2


def short() -> bool:
    """Whether caches should stop growing."""
    return _native.memory_state() >= 1


def room() -> int | None:
    """The bytes that this thread may still allocate, at least 0; None without a limit."""
    most = _here.ceiling
    if most is None:
        return None
    rooms = [line - used for line, used in zip(most, _native.memory_use(), strict=True) if line >= 0]
    return max(0, min(rooms)) if rooms else None


def require(amount: int, what: str) -> None:
    """Raise MemoryLimitError if ``what``, which needs ``amount`` bytes, does not fit within the limit.

    Amounts up to :data:`ASKED` are not checked, since the memory of a process always varies by this much.
    """
    left = None if amount <= ASKED else room()
    if left is not None and amount > left:
        raise MemoryLimitError(f"{what} would take {shown(amount)}, but the memory limit leaves only {shown(left)}")


def check() -> None:
    """Raise MemoryLimitError if this thread has reached its memory limit."""
    if full():
        raise MemoryLimitError("the memory limit is reached")


def shown(amount: int) -> str:
    """The text of a number of bytes, such as "1.5 GB"."""
    size = float(amount)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def stepwise(memory_limit: int | str | None, items: Iterator[T]) -> Iterator[T]:
    """Yield ``items``; the limit applies while each item is computed, but not between items."""
    while True:
        with within(memory_limit):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


# ------------------------------------------------------------------------------------------------------- the process


_looked: tuple[float, int | None, int] | None = None
"""The last check by :func:`_free`: its time, the result of :func:`available`, and the resident memory then."""


def _free(resident: int) -> int | None:
    """The available memory: the result of a recent check, minus the growth of ``resident`` since then."""
    global _looked
    now = time.monotonic()
    if _looked is None or not 0 <= now - _looked[0] < LOOK:
        _looked = (now, available(), resident)
    _, free, held = _looked
    return None if free is None else max(0, free - max(0, resident - held))


def available() -> int | None:
    """The bytes that this process may still allocate, given the free memory and its Linux control groups.

    None if the system does not report them.
    """
    rooms = _group_rooms()
    found = re.search(r"^MemAvailable: +(\d+) kB$", _read(Path("/proc/meminfo")) or "", re.MULTILINE)
    if found:
        rooms.append(int(found[1]) * 1024)
    else:  # other systems do not report free memory: use half of the memory of the machine
        with suppress(AttributeError, OSError, ValueError):
            rooms.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    return max(0, min(rooms)) if rooms else None


def resident_of(pid: int) -> int:
    """The resident memory of another process in bytes; 0 if the system does not report it."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def full_with(pids: Iterable[int]) -> bool:
    """Whether this process and its children ``pids`` together have reached the memory limit of this thread."""
    most = _here.ceiling
    if most is None or most.resident < 0:
        return full()
    together = _native.memory_use()[0] + sum(resident_of(pid) for pid in pids)
    return full() or together >= most.resident


def addresses_limited() -> bool:
    """Whether the address space or data is limited, so that allocations may fail at any moment."""
    most = _here.ceiling
    return most is not None and (most.addresses >= 0 or most.data >= 0)


def _limit_room(name: str, used: int) -> int | None:
    """The bytes that are left below a resource limit; None without a limit."""
    if sys.platform == "win32" or used < 0:
        return None
    import resource

    soft, _ = resource.getrlimit(getattr(resource, name))
    return None if soft == resource.RLIM_INFINITY else max(0, soft - used)


def _group_rooms(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """The bytes left in each Linux control group (version 1 or 2) that contains the process."""
    rooms: list[int] = []
    for line in (_read(own) or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            base, names, cache = root, ("memory.max", "memory.current"), "inactive_file"
        elif "memory" in controllers.split(","):
            base, cache = root / "memory", "total_inactive_file"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        group = base / path.strip("/")
        for folder in (folder for folder in (group, *group.parents) if folder == base or base in folder.parents):
            limit, used = (_read(folder / name) for name in names)
            if limit is None or used is None or not limit.strip().isdigit() or int(limit) >= 2**60:
                continue
            reclaimable = re.search(rf"^{cache} (\d+)$", _read(folder / "memory.stat") or "", re.MULTILINE)
            rooms.append(int(limit) - max(0, int(used) - (int(reclaimable[1]) if reclaimable else 0)))
    return rooms


def _read(path: Path) -> str | None:
    try:  # unbuffered: these files are short and are read often
        with path.open("rb", buffering=0) as file:
            return file.read().decode("ascii")
    except (OSError, UnicodeDecodeError):
        return None
