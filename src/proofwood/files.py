"""Files written whole or not at all, tried out before the work that fills them, read up to a limit; and their JSON."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedIOBase
from pathlib import Path
from typing import Any

CHUNK = 2**22
"""Bytes that are read at once: memory grows with what is there, not with the limit."""

MOST = 2**32
"""Bytes that a file may take in memory, if nobody says otherwise;"""
RATIO = 1000
"""no more than so many times its own size, which no table or model has that is not made to fill the memory,"""
SMALL = 2**26
"""or this many bytes, if that is more."""
_allowed: ContextVar[int | None] = ContextVar("max_bytes", default=None)

_DESCRIPTOR = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?fd/(\d+)")
"""What the links behind ``/dev/stdout`` and ``/dev/fd/1`` lead to on Linux: a file that is open already."""


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` to ``path``: all of it, or nothing.

    A regular file is replaced in one step by one that was written beside it and is on the disk. It keeps its mode.
    A link stays, and the file that it leads to is replaced. What is not a regular file (a device, a
    pipe) is written to and never replaced.

    Raises
    ------
    OSError
        If the file cannot be written. A file that was there is as it was, and nothing is left beside it.
    """
    opened = _open_file(path)
    if opened is not None:
        _require_open(opened, path)
        with os.fdopen(os.dup(opened), "wb") as stream:
            stream.write(content)
        return
    found = _require_place(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        with Path(path).open("r+b" if stat.S_ISBLK(found.st_mode) else "wb", buffering=0) as device:
            _write_all(device.fileno(), content)
        return
    target = Path(os.path.realpath(path))
    part = _beside(target)
    created = False
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        created = True
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            if found is not None:
                part.chmod(stat.S_IMODE(found.st_mode))
            os.fsync(stream.fileno())
        part.replace(target)
        created = False
        sync_folder(target.parent)
    except OSError as error:
        raise _named(error, path) from error
    finally:
        if created:
            part.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError now if :func:`write_whole` could not write to ``path`` later; nothing is changed.

    What only the writing itself can show, such as a disk that gets full, is not found.
    """
    opened = _open_file(path)
    if opened is not None:
        _require_open(opened, path)
        return
    found = _require_place(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        return
    part = _beside(Path(os.path.realpath(path)))
    try:
        part.touch(exist_ok=False)
        part.unlink()
    except OSError as error:
        raise _named(error, path) from error


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` leads to a regular file, or to none yet; False for devices, pipes and what is open already."""
    if _open_file(path) is not None:
        return False
    return not Path(path).exists() or Path(path).is_file()


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether both paths lead to the same file that exists."""
    try:
        return Path(one).samefile(other)
    except FileNotFoundError:
        return False


# The limit holds for the duration of a call, so that it binds a new reader ten layers down without a parameter:
# decisions/0072-files-are-measured-first.
@contextmanager
def allowing(max_bytes: int | None) -> Iterator[None]:
    """In this context each file that is read may take ``max_bytes`` in memory; None changes nothing.

    Raises
    ------
    ValueError
        If ``max_bytes`` is not a number of bytes above 0.
    """
    if max_bytes is None:
        yield
        return
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
        raise ValueError(f"max_bytes={max_bytes!r}: expected a number of bytes above 0, or None")
    before = _allowed.set(max_bytes)
    try:
        yield
    finally:
        _allowed.reset(before)


def permitted(size: int, *, ratio: int = RATIO) -> int:
    """Bytes that a file may take in memory.

    Parameters
    ----------
    size : of the file, in bytes
    ratio : times its size that it may take, where no limit was stated
    """
    allowed = _allowed.get()
    return min(MOST, max(SMALL, ratio * size)) if allowed is None else allowed


def beyond(path: str | os.PathLike[str], estimate: int, size: int, *, ratio: int = RATIO) -> str | None:
    """Why a file is refused before it is read, if it takes more bytes in memory than it may; else None.

    Parameters
    ----------
    path : of the file
    estimate : bytes that it takes, by what it says of itself
    size : of the file, in bytes
    ratio : see :func:`permitted`
    """
    most = permitted(size, ratio=ratio)
    if estimate <= most:
        return None
    return (
        f"{os.fspath(path)} has {size:,} bytes and takes about {estimate:,} in memory, and {most:,} are permitted: if "
        "you trust it, and have the memory, raise max_bytes (--max-bytes on the command line)"
    )


def require_room(what: str | os.PathLike[str], estimate: int, size: int) -> None:
    """Raise ValueError if a model takes more bytes in memory than it may, by the numbers that its file declares.

    Parameters
    ----------
    what : the file, or what it is called
    estimate : bytes that it takes
    size : of the file, in bytes
    """
    refusal = beyond(what, estimate, size, ratio=MOST)  # few trees may be of many columns
    if refusal is not None:
        raise ValueError(refusal)


def read_permitted(path: str | os.PathLike[str]) -> tuple[bytes, str | None]:
    """The content of a file; empty and why, if the file alone has more bytes than it may take in memory."""
    most = MOST if _allowed.get() is None else permitted(0)
    data = read_bounded(path, most)
    if data is not None:
        return data, None
    size = max(Path(path).stat().st_size, most + 1)
    return b"", beyond(path, size, size)


def bytes_of_json(data: bytes) -> int:
    """About how many bytes the values of a JSON text take in memory, at least as many as they do."""
    containers, values = data.count(b"[") + data.count(b"{"), data.count(b",") + data.count(b":")
    return len(data) + 88 * containers + 40 * values


def read_bounded(path: str | os.PathLike[str], limit: int) -> bytes | None:
    """The content of a file, or None if it has more than ``limit`` bytes: no more than these are ever held."""
    with Path(path).open("rb") as file:
        return read_stream(file, limit)


def read_stream(stream: BufferedIOBase, limit: int) -> bytes | None:
    """The rest of a stream, or None if that is more than ``limit`` bytes."""
    parts: list[bytes] = []
    left = limit
    while part := stream.read(CHUNK):
        left -= len(part)
        if left < 0:
            return None
        parts.append(part)
    return b"".join(parts)


# ------------------------------------------------------------------------------------------------------- internals


def _open_file(path: str | os.PathLike[str]) -> int | None:
    """The descriptor of this process that ``path`` is another name of, such as 1 for ``/dev/stdout``."""
    place = os.fspath(path)
    if "\0" in place:
        return None
    own = {str(os.getpid()), "self", "thread-self"}
    for _ in range(40):  # as many links as the kernel follows
        place = os.path.join(os.path.realpath(os.path.dirname(place) or "."), os.path.basename(place))  # noqa: PTH118, PTH119, PTH120
        found = _DESCRIPTOR.fullmatch(place)
        if found is not None:
            return int(found[1]) if place.split("/")[2] in own else None
        if not os.path.islink(place):  # noqa: PTH114
            return None
        place = os.path.join(os.path.dirname(place), os.readlink(place))  # noqa: PTH115, PTH118, PTH120
    return None


def _require_open(descriptor: int, path: str | os.PathLike[str]) -> None:
    """OSError with words unless the descriptor is open for writing."""
    import fcntl  # where descriptors have names, it is there

    try:
        mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError:
        raise OSError(errno.EBADF, f"descriptor {descriptor} is not open", os.fspath(path)) from None
    if mode == os.O_RDONLY:
        raise OSError(errno.EBADF, f"descriptor {descriptor} is open for reading only", os.fspath(path))


def _require_place(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What is at ``path``, or None; OSError with words if nothing can be written there."""
    shown = os.fspath(path)
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}", shown) from None
        if not Path(path).name:
            raise FileNotFoundError(errno.ENOENT, "the name of the file is empty", shown) from None
        return None
    except NotADirectoryError:
        message = f"{Path(path).parent} is a file and no folder"
        raise NotADirectoryError(errno.ENOTDIR, message, shown) from None
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, f"this is not the name of a file ({error})", shown) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, expected the name of a file", shown)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "permission denied: the file may not be written", shown)
    return found


def _beside(target: Path) -> Path:
    """A name for a temporary file in the folder of ``target``; short, as the name of the target may be the longest."""
    return target.with_name(f".proofwood-{secrets.token_hex(6)}.part")


def _named(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """``error`` about the file that the caller named, and not about the temporary one."""
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        reason = f"permission denied: no file can be made in the folder {Path(os.path.realpath(path)).parent}"
    return type(error)(error.errno, reason, os.fspath(path))


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Make the new name of a file last: on POSIX, the folder is written to the disk, too."""
    if sys.platform == "win32":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to and not read: the file is there, in its place
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):  # file systems that cannot sync folders
            raise
    finally:
        os.close(handle)


def strict_json(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError if it is none, or has a number that JSON does not know, such as NaN."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a JSON number")

    return json.loads(text, parse_constant=refuse)


def canonical_json(value: object) -> bytes:
    """The one JSON text of a value that digests are taken of: keys sorted, no blanks, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
