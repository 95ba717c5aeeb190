"""Write files completely or not at all, check before long work that a file can be written, and read with a limit."""

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
"""The number of bytes that are read at once, so that memory grows with the file and not with the limit."""

MOST = 2**32
"""The most bytes that a file may take in memory by default."""
RATIO = 1000
"""By default, a file may take at most this many times its own size in memory. Only malicious files need more."""
SMALL = 2**26
"""A file may always take this many bytes in memory by default, even if ``RATIO`` times its size is less."""
_allowed: ContextVar[int | None] = ContextVar("max_bytes", default=None)

_DESCRIPTOR = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?fd/(\d+)")
"""The target of links such as ``/dev/stdout`` and ``/dev/fd/1`` on Linux: a file that is already open."""


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write all of ``content`` to ``path``, or nothing.

    A regular file is first written to disk under a temporary name in the same folder, and then replaced in one step. It
    keeps its mode. If ``path`` is a link, the link stays, and its target is replaced. Devices and pipes are written to
    and never replaced.

    Raises
    ------
    OSError
        If the file cannot be written. An existing file is then unchanged, and no temporary file remains.
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
    """Raise OSError if :func:`write_whole` would not be able to write to ``path``; the file is not changed.

    Errors that only appear during writing, such as a full disk, are not found.
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


OTHER_KINDS = (
    ".csv",
    ".tsv",
    ".xlsx",
    ".parquet",
    ".arrow",
    ".feather",
    ".pdf",
    ".doc",
    ".docx",
    ".odt",
    ".png",
    ".svg",
)
"""Endings that promise a table, a document or a picture: no page, and no list of explanations, has such a name."""


def require_kind(path: str | os.PathLike[str], expected: str) -> None:
    """Raise ValueError if the ending of a file that is to be written promises another kind than ``expected``."""
    ending = Path(path).suffix.lower()
    if ending in OTHER_KINDS:
        raise ValueError(f"{path}: this would not be a file of kind {ending}: expected {expected}")


def require_page(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if a report is to be written to a file that promises to be no page."""
    require_kind(path, "a page, .html, which browsers print to PDF")


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` is a regular file, or does not exist yet; False for devices, pipes and open descriptors."""
    if _open_file(path) is not None:
        return False
    return not Path(path).exists() or Path(path).is_file()


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether both paths lead to the same existing file."""
    try:
        return Path(one).samefile(other)
    except FileNotFoundError:
        return False


# The limit applies during a call, so that every reader inside obeys it without a parameter:
# decisions/0072-files-are-measured-first.
@contextmanager
def allowing(max_bytes: int | None) -> Iterator[None]:
    """A context in which each file that is read may take ``max_bytes`` in memory; None does not change the limit.

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
    """The bytes that a file may take in memory.

    Parameters
    ----------
    size : size of the file in bytes
    ratio : largest ratio of memory to size, used if :func:`allowing` states no limit
    """
    allowed = _allowed.get()
    return min(MOST, max(SMALL, ratio * size)) if allowed is None else allowed


def beyond(path: str | os.PathLike[str], estimate: int, size: int, *, ratio: int = RATIO) -> str | None:
    """The text of an error if a file takes more bytes in memory than permitted; otherwise None.

    Parameters
    ----------
    path : path of the file
    estimate : bytes that it takes in memory, estimated from the sizes that it declares
    size : size of the file in bytes
    ratio : see :func:`permitted`
    """
    most = permitted(size, ratio=ratio)
    if estimate <= most:
        return None
    return (
        f"{os.fspath(path)} has {size:,} bytes and takes about {estimate:,} in memory, but only {most:,} are "
        "permitted: if you trust the file and have enough memory, raise max_bytes (--max-bytes on the command line)"
    )


def require_room(what: str | os.PathLike[str], estimate: int, size: int) -> None:
    """Raise ValueError if a model would take more memory than permitted, estimated from the sizes in its file.

    Parameters
    ----------
    what : path or name of the file
    estimate : bytes that the model takes in memory
    size : size of the file in bytes
    """
    refusal = beyond(what, estimate, size, ratio=MOST)  # few trees may be of many columns
    if refusal is not None:
        raise ValueError(refusal)


def read_permitted(path: str | os.PathLike[str]) -> tuple[bytes, str | None]:
    """Return the content of a file and None. If the file is too large for memory, return no content and the reason."""
    most = MOST if _allowed.get() is None else permitted(0)
    data = read_bounded(path, most)
    if data is not None:
        return data, None
    size = max(Path(path).stat().st_size, most + 1)
    return b"", beyond(path, size, size)


def bytes_of_json(data: bytes) -> int:
    """An upper estimate of the bytes that the values of a JSON text take in memory."""
    containers, values = data.count(b"[") + data.count(b"{"), data.count(b",") + data.count(b":")
    return len(data) + 88 * containers + 40 * values


def read_bounded(path: str | os.PathLike[str], limit: int) -> bytes | None:
    """Return the content of a file. Stop reading and return None if the file has more than ``limit`` bytes."""
    with Path(path).open("rb") as file:
        return read_stream(file, limit)


def read_stream(stream: BufferedIOBase, limit: int) -> bytes | None:
    """Return the rest of a stream, or None if it has more than ``limit`` bytes."""
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
    """The descriptor of this process to which ``path`` refers, such as 1 for ``/dev/stdout``; None for other paths."""
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
    """Raise OSError with a clear message if the descriptor is not open for writing."""
    import fcntl  # exists on all systems in which descriptors have paths

    try:
        mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError:
        raise OSError(errno.EBADF, f"descriptor {descriptor} is not open", os.fspath(path)) from None
    if mode == os.O_RDONLY:
        raise OSError(errno.EBADF, f"descriptor {descriptor} is open only for reading", os.fspath(path))


def _require_place(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the status of an existing ``path``, or None. Raise a clear OSError if the file cannot be written."""
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
        message = f"{Path(path).parent} is a file, not a folder"
        raise NotADirectoryError(errno.ENOTDIR, message, shown) from None
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, f"this is not the name of a file ({error})", shown) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, expected the name of a file", shown)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "permission denied: you may not write to this file", shown)
    return found


def _beside(target: Path) -> Path:
    """A name for a temporary file in the folder of ``target``, short even if the name of ``target`` is very long."""
    return target.with_name(f".proofwood-{secrets.token_hex(6)}.part")


def _named(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """Return ``error`` with the path of the temporary file replaced by the path that the caller passed."""
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        reason = f"permission denied: you may not create files in the folder {Path(os.path.realpath(path)).parent}"
    return type(error)(error.errno, reason, os.fspath(path))


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Write a folder to disk on POSIX systems, so that the new name of a file in it survives a crash."""
    if sys.platform == "win32":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # the folder may be written but not read; the file itself is already written
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):  # file systems that cannot sync folders
            raise
    finally:
        os.close(handle)


def strict_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise ValueError if the text is not valid JSON, or has a number such as NaN."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a JSON number")

    return json.loads(text, parse_constant=refuse)


def canonical_json(value: object) -> bytes:
    """The canonical JSON text of a value, for digests: sorted keys, no spaces, only ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
