"""Files that somebody else has put there neither block their reader nor fill its memory."""

import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from tui_tasks import regular_files

SPARSE_BYTES = 15 * 1024**4


def refused(path: Path, max_bytes: int = 10, **options: bool) -> int:
    """The number of the error with which a file is refused."""
    with pytest.raises(OSError) as error:
        regular_files.read_regular(path, max_bytes, **options)
    assert error.value.filename == str(path), "as text, which messages show"
    assert error.value.errno is not None
    return error.value.errno


def test_a_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert regular_files.read_regular(file, 10) == b"0123456789"
    assert regular_files.read_text(file, 11) == "0123456789"
    assert refused(file, 9) == errno.EFBIG


def test_a_sparse_file_of_terabytes_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sparse"
    with file.open("wb") as made:
        made.truncate(SPARSE_BYTES)
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("it was read"))
    assert refused(file, 1 << 20) == errno.EFBIG


def test_a_file_that_grows_while_it_is_read_stays_within_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"short")
    real = os.fstat

    def grow(handle: int) -> os.stat_result:
        found = real(handle)
        file.write_bytes(b"x" * 100)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstat", grow)
        assert refused(file, 10) == errno.EFBIG


def test_a_fifo_is_refused_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert refused(tmp_path / "fifo") == errno.EINVAL
    # A writer would find a reader if it had been opened.
    with pytest.raises(OSError, match="No such device"):
        os.open(tmp_path / "fifo", os.O_WRONLY | os.O_NONBLOCK)


def test_a_fifo_that_takes_the_place_of_a_file_between_look_and_open_does_not_block(tmp_path: Path) -> None:
    file, fifo = tmp_path / "file", tmp_path / "fifo"
    file.touch()
    os.mkfifo(fifo)
    real = os.stat

    def swap(path: Path, **options: bool) -> os.stat_result:
        found = real(path, **options)
        fifo.replace(file)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "stat", swap)
        assert refused(file) == errno.EINVAL
    assert stat.S_ISFIFO(file.stat().st_mode)


def test_a_folder_a_device_and_a_socket_are_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        for path in (tmp_path, Path("/dev/zero"), tmp_path / "socket"):
            assert refused(path) == errno.EINVAL


def test_a_link_is_followed_only_where_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    assert regular_files.read_regular(tmp_path / "link", 10) == b"text"
    assert refused(tmp_path / "link", follow_links=False) == errno.EINVAL


def test_a_name_in_an_open_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert regular_files.read_regular("file", 10, dir_fd=folder) == b"text"
    finally:
        os.close(folder)
