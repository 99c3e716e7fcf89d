"""Folders of Markdown files that are imported and exported: the files as texts by their names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tui_tasks.cli.formats.progress import ProgressBar
from tui_tasks.core.errors import InvalidArgument, as_utf8
from tui_tasks.settings import atomic_file

MAX_BYTES: Final = 256_000_000


def decoded(name: str, content: bytes) -> str:
    """Return the text of a file.

    Raises:
        InvalidArgument: it is too long, or not UTF-8.
    """
    if len(content) > MAX_BYTES:
        raise InvalidArgument("file", f"{as_utf8(name)} holds over {MAX_BYTES:,} bytes: import it in parts")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument("file", f"{as_utf8(name)} is not UTF-8: {error.reason} at byte {error.start}") from None


def read(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return the Markdown files in the named subfolders of a folder, by relative path.

    Raises:
        InvalidArgument: they are too long together, or one is not UTF-8.
    """
    found, left = {}, MAX_BYTES
    for path in sorted(path for name in names for path in (folder / name).glob("*.md")):
        if not path.is_file():
            continue
        with path.open("rb") as opened:
            content = opened.read(left + 1)
        left -= len(content)
        if left < 0:
            raise InvalidArgument("file", f"{as_utf8(str(folder))} holds over {MAX_BYTES:,} bytes")
        found[path.relative_to(folder).as_posix()] = decoded(str(path), content)
    return found


def place(folder: Path, names: tuple[str, ...]) -> Path:
    """Return the folder that has these subfolders: the given one, or `backlog` or `.backlog` in it."""
    inside = (folder, folder / "backlog", folder / ".backlog")
    return next((each for each in inside if (each / names[0]).is_dir()), folder)


def refuse_none(folder: Path, names: tuple[str, ...]) -> None:
    """Refuse a folder that has none of these subfolders.

    Raises:
        InvalidArgument: it has none.
    """
    if not any((folder / name).is_dir() for name in names):
        message = f"{as_utf8(str(folder))} has no folder `{names[0]}`: name the one that has it"
        raise InvalidArgument("file", message)


def write(folder: Path, files: Mapping[str, str], bar: ProgressBar) -> None:
    """Write each file atomically, creating its folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        atomic_file.replace(folder / name, text.encode())
        bar.step()
