"""Files are written whole or not at all; what is no regular file is never replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from proofwood.files import is_regular, read_bounded, require_writable, same_file, write_whole

posix = pytest.mark.skipif(sys.platform == "win32", reason="devices, pipes and modes of POSIX")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@posix
def test_a_file_is_replaced_in_one_step_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    before = path.stat().st_ino
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_ino != before
    assert names(tmp_path) == ["a"]


@posix
def test_a_new_file_has_the_mode_of_the_process(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"new")
    (tmp_path / "b").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@posix
def test_links_stay(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(Path("folder") / "real")  # leads to no file yet
    for content in (b"one", b"two"):
        require_writable(tmp_path / "link")
        write_whole(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "real").read_bytes() == content


@posix
def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    before = Path("/dev/null").stat()
    write_whole("/dev/null", b"x" * 100_000)
    after = Path("/dev/null").stat()
    assert (stat.S_ISCHR(after.st_mode), after.st_ino) == (True, before.st_ino)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen: list[bytes] = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"y" * 300_000)
    reader.join(10)
    assert seen == [b"y" * 300_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert not is_regular(pipe)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_told() -> None:
    with pytest.raises(OSError, match="No space left"):
        write_whole("/dev/full", b"x")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
def test_standard_output_by_its_name_is_no_other_file(tmp_path: Path) -> None:
    code = (
        "from proofwood.files import require_writable, write_whole; import sys\n"
        "print('before', flush=True); require_writable('/dev/stdout'); write_whole('/dev/stdout', b'x\\n')\n"
        "print('after')"
    )
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, timeout=60)
    assert (tmp_path / "out").read_text() == "before\nx\nafter\n"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("ask", [require_writable, lambda path: write_whole(path, b"x")])
def test_what_cannot_be_written_is_told_in_words(tmp_path: Path, ask) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    for path, kind, says in (
        (tmp_path / "none" / "a", FileNotFoundError, "there is no folder"),
        (tmp_path, IsADirectoryError, "it is a folder, expected the name of a file"),
        (tmp_path / "file" / "a", OSError, "(not a|no) folder"),
        ("", OSError, "a folder"),
        (tmp_path / ("n" * 300), OSError, "too long"),
        (str(tmp_path / "a\0b"), OSError, "not the name of a file"),
    ):
        with pytest.raises(kind, match=says):
            ask(path)
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"kept"


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("ask", [require_writable, lambda path: write_whole(path, b"x")])
def test_permissions_are_kept(tmp_path: Path, ask) -> None:
    (tmp_path / "read-only").write_bytes(b"kept")
    (tmp_path / "read-only").chmod(0o444)
    with pytest.raises(PermissionError, match="you may not write"):
        ask(tmp_path / "read-only")
    (tmp_path / "closed").mkdir(mode=0o555)
    with pytest.raises(PermissionError, match="you may not create files in the folder"):
        ask(tmp_path / "closed" / "a")


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, b"new")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_longest_name_has_room_for_a_temporary_file(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), b"x")
    assert names(tmp_path) == ["n" * 255]


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    assert read_bounded(tmp_path / "a", 4) is None
    assert same_file(tmp_path / "a", str(tmp_path / "a"))
    assert not same_file(tmp_path / "a", tmp_path / "none")


@posix
def test_an_endless_device_is_read_up_to_the_limit() -> None:
    assert read_bounded("/dev/zero", 1_000_000) is None


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
def test_descriptors_that_cannot_be_written_to_are_found_before(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    try:
        for check in (require_writable, lambda path: write_whole(path, b"new")):
            with pytest.raises(OSError, match="open only for reading"):
                check(f"/dev/fd/{handle}")
    finally:
        os.close(handle)
    with pytest.raises(OSError, match="is not open"):
        require_writable(f"/dev/fd/{handle}")
    assert (tmp_path / "a").read_bytes() == b"old"


@posix
def test_a_folder_that_cannot_be_read_gets_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def unreadable(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if Path(path) == tmp_path:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", unreadable)
    write_whole(tmp_path / "a", b"new")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"new"
