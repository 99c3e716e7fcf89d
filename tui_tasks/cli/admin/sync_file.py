"""`sync-file`: keeps a file of all tasks up to date for a team's git, and sets git up to merge it by task."""

from __future__ import annotations

import argparse
import errno
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

from tui_tasks import clock, regular_files
from tui_tasks.cli.admin.import_export import MAX_BYTES, decoded_lines, os_error_text, os_errors_printed
from tui_tasks.cli.options import REFUSED, identity_of, open_store, require_database
from tui_tasks.cli.tasks.lookup import find_list
from tui_tasks.core.engine import file_writes
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import InvalidArgument, as_utf8
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SHELL
from tui_tasks.formats import exporting
from tui_tasks.formats.file_records import ExportData, TaskRecord, uid_of
from tui_tasks.formats.standards import json_lines
from tui_tasks.runner import git
from tui_tasks.text.safe import safe_line

_SYNC_SECONDS: Final = 0.5
"""Seconds between two writes by `sync-file`."""
_WAITS: Final = ": waiting for the folder"


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    command.add_argument("file", metavar="PATH", help="a file of JSON Lines, as `export jsonl` writes it")
    command.add_argument("--once", action="store_true", help="write it once")
    command.add_argument("--replace", action="store_true", help="overwrite tasks that the database does not have")
    command.add_argument("--install-merge", action="store_true", help="set git up to merge the file by task and field")


def run(name: str, options: argparse.Namespace) -> int:
    """Keep the file up to date until the program is ended, or write it once; return the exit status."""
    with os_errors_printed(name):
        return _sync(options)
    return REFUSED


def _sync(options: argparse.Namespace) -> int:
    path = Path(options.file)
    if options.install_merge:
        print(safe_line(install_merge(path)))
        if not options.once:
            return 0
    require_database(options)
    identity = identity_of(options)
    for finding in merge_findings(path.parent, path):
        print(f"tui-tasks sync-file: {safe_line(finding)}", file=sys.stderr)
    with open_store(options) as store:
        reason = None
        named = find_list(store.db, options.list).handle if options.list is not None else None
        for content in follow(store, path, named, identity.project, replaces=options.replace):
            if isinstance(content, bytes):
                reason = None
                if options.once:
                    break
            elif options.once:
                raise InvalidArgument("file", content.removesuffix(_WAITS))
            elif content != reason:
                reason = content
                print(f"tui-tasks sync-file: {safe_line(content)}", file=sys.stderr)
            time.sleep(_SYNC_SECONDS)
    return 0


def follow(
    store: Store, path: Path, handle: str | None, project: str | None, *, replaces: bool = False
) -> Iterator[bytes | str]:
    """Write the file whenever the content changes, without end; yield each content after it is in the file.

    What others write into the file is not overwritten before it is imported: until then, and while the file cannot be
    written, yield the reason. `replaces`: overwrite what the file has at first.
    """
    from tui_tasks.core.engine.commit_watch import Watch

    watch = Watch(store.db)
    store.db.follow()
    seen: bytes | None = None
    try:
        while True:
            rows = exporting.rows(store.db, handle, project, with_deleted=True)
            present = _present(path, len(seen or b""))
            is_free = replaces or present is None or present == seen
            reason = None if is_free else _what_is_newer(store, path, present or b"")
            if reason is None:
                try:
                    seen = _write(store, path, rows, present)
                    replaces = False
                except FileNotFoundError as error:
                    reason = f"{os_error_text(error)}{_WAITS}"
            if reason is not None:
                yield reason
                continue
            assert seen is not None
            yield seen
            while not watch.changed(time.monotonic()):
                watch.sleep()
    finally:
        watch.close()


def _present(path: Path, expected: int) -> bytes | None:
    """Return the content of a file; None if there is none, or it is no file that can be read back.

    Raises:
        OSError: it cannot be read, or is longer than expected and than an import could be.
    """
    try:
        return regular_files.read_regular(path, max(expected, MAX_BYTES))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINVAL):
            return None
        raise


def _write(store: Store, path: Path, rows: ExportData, present: bytes | None) -> bytes:
    before = (present or b"").decode(errors="replace")
    content = json_lines.team_text(rows, before, lambda uid: task_queries.any_task(store.db, uid) is not None).encode()
    if content != present:
        file_writes.write_named(path, content)
    return content


def _what_is_newer(store: Store, path: Path, content: bytes) -> str | None:
    """Return why a file must be imported before it is overwritten; None if the database has all that it has."""
    name = as_utf8(str(path))
    if not content.strip():
        return None
    try:
        parsed = json_lines.read(decoded_lines(name, BytesIO(content)), local_time(clock.now()))
    except InvalidArgument as error:
        return f"{name}: {error.message}"
    newer = apart = 0
    for record in parsed.records:
        known = task_queries.any_task(store.db, uid_of("jsonl", record.id))
        if known is None or (record.changed is not None and record.changed[0] > known.version):
            newer += 1
        else:
            apart += not _is_known(store.db, known, record)
    for uid, (version, _) in parsed.deleted.items():
        known = task_queries.any_task(store.db, uid)
        newer += known is not None and version > known.version
    if newer:
        return f"{name} holds {newer:,} tasks that the database lacks or has older: import it (--replace: overwrite)"
    if apart:
        return (
            f"{name} holds other changes of {apart:,} tasks than the database: an import takes those of the file, "
            "--replace those of the database"
        )
    return None


def _is_known(db: Database, task: Task, record: TaskRecord) -> bool:
    """Return whether the database has, or had, each value and log entry of a task of the file, as far as its journal
    is not compacted. Versions do not tell: two databases count their own.
    """
    logged = [uid_of("jsonl", entry.uid) for entry in record.log if entry.uid is not None]
    is_known = task_records.had_logs(db, task, logged) and task_records.had_values(db, task, record.fields)
    return is_known or task_records.is_compacted(db, task.uid)


_NAME: Final = "tui-tasks"
_ATTRIBUTE: Final = f"merge={_NAME}"
_MAX_ATTRIBUTES: Final = 1024 * 1024
_MODULE: Final = "tui_tasks.formats.standards.team_merge"
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
