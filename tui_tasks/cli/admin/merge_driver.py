"""The setting by which git merges a file of tasks by task: put into a clone, and found missing in one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tui_tasks import regular_files
from tui_tasks.core.engine import file_writes
from tui_tasks.core.errors import InvalidArgument, as_utf8
from tui_tasks.runner import git

_NAME: Final = "tui-tasks"
_ATTRIBUTE: Final = f"merge={_NAME}"
_MAX_ATTRIBUTES: Final = 1024 * 1024
_MODULE: Final = "tui_tasks.formats.team_merge"
_SPECIAL: Final = re.compile(r"([\\*?\[\]!#])")


def install_merge(path: Path) -> str:
    """Let git merge a file by task, in this clone and by `.gitattributes` in every one; return what was done.

    Raises:
        InvalidArgument: the file is in no repository.
        OSError: `.gitattributes` cannot be written.
    """
    top = _top(path.parent)
    if top is None:
        raise InvalidArgument("file", f"{as_utf8(str(path))} is in no git repository: name a file in one")
    attributes = top / ".gitattributes"
    if not _is_merged(path):
        present = regular_files.read_text(attributes, _MAX_ATTRIBUTES) if os.path.lexists(attributes) else ""
        end = "" if not present or present.endswith("\n") else "\n"
        file_writes.write_named(attributes, f"{present}{end}{_pattern(_inside(path, top))} {_ATTRIBUTE}\n".encode())
    command = f"{shlex.quote(sys.executable)} -m {_MODULE} %O %A %B %L"
    for name, value in (("name", "tasks by task and field"), ("driver", command)):
        done = _git(top, "config", "--local", f"merge.{_NAME}.{name}", value)
        if done is None:
            raise InvalidArgument("file", f"git did not take the setting merge.{_NAME}.{name} in {as_utf8(str(top))}")
    return f"git merges {as_utf8(_inside(path, top))} by task in this clone; commit {attributes.name} for the others"


def _inside(path: Path, top: Path) -> str:
    """Return a path as it is in its repository."""
    return path.resolve().relative_to(top.resolve()).as_posix()


def merge_findings(folder: Path, path: Path | None = None) -> Iterator[str]:
    """Yield what is missing for merging by task in the repository of a folder, if its `.gitattributes` asks for that.

    `path` is the file that is meant; None: any.
    """
    top = _top(folder)
    if top is None:
        return
    named = path if path is not None else _named(top)
    if named is None or (path is not None and not _is_merged(path)):
        return
    file = as_utf8(_inside(named, top)) if path is not None else str(named)
    install_it = f"run tui-tasks sync-file {shlex.quote(file)} --install-merge in {as_utf8(str(top))}"
    driver = _git(top, "config", f"merge.{_NAME}.driver")
    if driver is None:
        setting = f"the setting merge.{_NAME}.driver is missing"
        yield f"git merges {file} line by line in this clone, as {setting}: {install_it}"
    elif shutil.which(next(iter(shlex.split(driver)), "")) is None:
        yield f"git cannot merge {file} by task, as the program of merge.{_NAME}.driver is gone: {install_it}"


def _named(top: Path) -> Path | None:
    """Return the first pattern that the repository's attributes merge by task."""
    try:
        lines = regular_files.read_text(top / ".gitattributes", _MAX_ATTRIBUTES).splitlines()
    except (OSError, ValueError):
        return None
    return next((Path(line.split()[0].lstrip("/")) for line in lines if _ATTRIBUTE in line.split()[1:]), None)


def _is_merged(path: Path) -> bool:
    said = _git(path.parent, "check-attr", "-z", "merge", "--", path.name)
    return said is not None and said.split("\0")[2:3] == [_NAME]


def _pattern(inside: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", f"/{inside}")
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"' if re.search(r'[\s"]', escaped) else escaped


def _top(folder: Path) -> Path | None:
    said = _git(folder, "rev-parse", "--show-toplevel")
    return None if not said else Path(said)


def _git(folder: Path, *words: str) -> str | None:
    """Return what git prints; None if it fails, or is not installed."""
    try:
        return git.read(folder, *words).removesuffix("\n")
    except git.GitFailed:
        return None
