"""The files that `setup` reads and writes. Their folder may contain symbolic links made by anybody."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tui_tasks.settings import atomic_file


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
            atomic_file.replace(self.real, self.after.encode(), new_mode=0o644)
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
        text = real.read_bytes().decode()
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
