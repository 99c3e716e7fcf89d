"""A folder of files as an import reads it and an export writes it: Markdown files, each a name and a text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tui_tasks.cli.formats.progress import ProgressBar
from tui_tasks.core.errors import InvalidArgument, as_utf8
from tui_tasks.settings import atomic_file

MOST_BYTES: Final = 256_000_000
_SUFFIX: Final = ".md"


def decoded(name: str, content: bytes) -> str:
    """Return a file's text.

    Raises:
        InvalidArgument: it is too long, or not UTF-8.
    """
    if len(content) > MOST_BYTES:
        raise InvalidArgument("file", f"{as_utf8(name)} holds over {MOST_BYTES:,} bytes: import it in parts")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument("file", f"{as_utf8(name)} is not UTF-8: {error.reason} at byte {error.start}") from None


def read(folder: Path) -> dict[str, str]:
    """Return the Markdown files of a folder by name; a folder that is not there has none.

    Raises:
        InvalidArgument: they are too long together, or one is not UTF-8.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("file", f"{as_utf8(str(folder))} is no folder: this format is a folder of files")
    found, left = {}, MOST_BYTES
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if not path.is_file():
            continue
        with path.open("rb") as opened:
            content = opened.read(left + 1)
        left -= len(content)
        if left < 0:
            raise InvalidArgument("file", f"{as_utf8(str(folder))} holds over {MOST_BYTES:,} bytes")
        found[path.name] = decoded(str(path), content)
    return found


def write(folder: Path, files: Mapping[str, str], bar: ProgressBar) -> None:
    """Put each file in place whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        atomic_file.replace(folder / name, text.encode())
        bar.step()
    bar.end()
