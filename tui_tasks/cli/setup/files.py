"""The files that `setup` reads and writes, and blocks at their end. Anybody may have made links in their folder.

An empty line separates it from the text. The block ends with a line break exactly if the text before it did.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tui_tasks import regular_files
from tui_tasks.core.engine import file_writes

MAX_BYTES: Final = 64 * 1024 * 1024
"""The size above which a file of an agent program is not read."""


class NotSetUp(Exception):
    """A file is not as expected, or cannot be written; it is unchanged."""


@dataclass(slots=True)
class File:
    """A file before and after the setup.

    Attributes:
        path: the path by which the program finds it.
        root: the folder that writing must not leave.
        real: the path without symbolic links.
        before: its text; None if it does not exist.
        after: its text after the setup; None if it is then not to exist.
    """

    path: Path
    root: Path
    real: Path
    before: str | None
    after: str | None

    def write(self) -> None:
        """Write the new content atomically, or remove the file.

        Raises:
            NotSetUp: it cannot be written.
        """
        try:
            if self.after is None:
                self.real.unlink()
                self._remove_empty_folders()
                return
            self.real.parent.mkdir(parents=True, exist_ok=True)
            file_writes.write_named(self.real, self.after.encode())
        except OSError as error:
            raise NotSetUp(f"cannot write {self.path}: {error.strerror}") from error

    def _remove_empty_folders(self) -> None:
        root = Path(os.path.realpath(self.root))
        for folder in self.real.parents:
            if folder == root or not folder.is_relative_to(root):
                return
            try:
                folder.rmdir()
            except OSError:
                return


def read(path: Path, root: Path) -> File:
    """Read a file below a folder, following symbolic links that stay inside.

    Raises:
        NotSetUp: a link leads out of the folder, or the file is not regular, unreadable, or not UTF-8.
    """
    real = Path(os.path.realpath(path))
    inside = Path(os.path.realpath(root))
    if not real.is_relative_to(inside) or ".git" in real.relative_to(inside).parts:
        place = _resolve_links(path, root)
        raise NotSetUp(
            f"{place} is a link to {place.readlink()}, and leads out of {root}: put a file of its own there, and try "
            "again"
        )
    if real.exists() and not real.is_file():
        raise NotSetUp(f"{path} is no file; move it away, and try again")
    try:
        text = regular_files.read_text(real, MAX_BYTES)
    except FileNotFoundError:
        return File(path, root, real, None, None)
    except OSError as error:
        raise NotSetUp(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NotSetUp(f"{path} is not UTF-8 ({error}); mend the file, and try again") from error
    return File(path, root, real, text, text)


def _resolve_links(path: Path, root: Path) -> Path:
    files = [place for place in (path, *path.parents) if place != root and place.is_symlink()]
    return files[-1] if files else path


def newline_of(text: str | None) -> str:
    """Return the line break that a text uses."""
    return "\r\n" if text and "\r\n" in text else "\n"


def append(text: str | None, block: str) -> str:
    """Return the text (None: there is no file) with a block of whole lines appended."""
    newline = newline_of(text)
    block = block.rstrip("\n").replace("\n", newline)
    if text is None:
        return block + newline
    if not text:
        return block
    if text.endswith("\n"):
        return text + newline + block + newline
    return text + newline * 2 + block


def remove(text: str, start: int, end: int) -> str | None:
    """Return the text without the block between two offsets, the line break after it not included.

    None: the file has nothing else.
    """
    newline = newline_of(text)
    before, after = text[:start], text[end:]
    if not after:
        return before.removesuffix(newline * 2)
    after = after.removeprefix(newline)
    if not before and not after:
        return None
    return before.removesuffix(newline) + after
