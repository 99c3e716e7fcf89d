"""`export`, `import` and `sync-file` (docs: import-and-export)."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from tui_tasks import clock
from tui_tasks.cli.formats import folders
from tui_tasks.cli.formats.folders import MAX_BYTES
from tui_tasks.cli.formats.progress import ProgressBar
from tui_tasks.cli.options import REFUSED, identity_of, open_store, require_database
from tui_tasks.core.errors import Forbidden, InvalidArgument, Paused, as_utf8
from tui_tasks.core.read import messages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.requests.identity import Identity, own_list
from tui_tasks.formats import exporting
from tui_tasks.formats.importing import Importer
from tui_tasks.formats.losses import losses
from tui_tasks.formats.records import ExportData
from tui_tasks.formats.standards import json_lines
from tui_tasks.formats.table import FORMATS, Format
from tui_tasks.settings import atomic_file
from tui_tasks.text.safe import safe_line

_MAX_PRINTED_LOSSES: Final = 20
_SYNC_INTERVAL_S: Final = 0.5
"""Seconds between two writes by `sync-file`."""


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    if name == "sync-file":
        command.add_argument("file", metavar="PATH", help="a file of JSON Lines, as `export jsonl` writes it")
        command.add_argument("--once", action="store_true", help="write it once, and end")
        command.add_argument("--replace", action="store_true", help="also over tasks that the database does not have")
        return
    reads = name == "import"
    known = {
        format_.name: format_.help for format_ in FORMATS.values() if (format_.is_read if reads else format_.is_written)
    }
    command.epilog = "Formats: " + "; ".join(f"{word} ({told})" for word, told in known.items()) + "."
    command.add_argument("format", metavar="FORMAT", choices=known, help=f"one of {', '.join(known)}")
    if reads:
        command.add_argument("file", metavar="FILE", help="what to read, a file or a folder; - is standard input")
    else:
        command.add_argument("-o", "--output", dest="file", metavar="FILE", help="write there, not to standard output")
    command.add_argument("--dry-run", action="store_true", help="tell what would come of it, and change nothing")


def run(name: str, options: argparse.Namespace) -> int:
    """Run the command of that name; return the exit status."""
    try:
        return {"export": _export, "import": _import, "sync-file": _sync}[name](options)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        print(f"tui-tasks {name}: {safe_line(as_utf8(str(error)))}", file=sys.stderr)
        return REFUSED


class _ComposedExport(NamedTuple):
    """A composed export: what the format loses, and a function that writes it."""

    lost: Counter[str]
    write: Callable[[], None]


def _export(options: argparse.Namespace) -> int:
    require_database(options)
    identity = identity_of(options)
    format_ = FORMATS[options.format]
    if format_.is_folder and options.file is None:
        raise InvalidArgument("output", f"{format_.name} is a folder of files: name it by -o FOLDER")
    with open_store(options) as store:
        total = sum(home.total for home in queries.lists(store.db, identity.project))
        with ProgressBar("reading", total) as bar:
            rows = exporting.rows(store.db, identity.list, identity.project, bar.step)
    count = sum(len(tasks) for _, tasks in rows.lists)
    made = (_compose_folder if format_.is_folder else _compose_file)(format_, rows, count, options.file)
    if options.dry_run:
        print(f"would write {count:,} tasks of {len(rows.lists):,} lists")
    else:
        made.write()
        if options.file is not None:
            print(f"wrote {count:,} tasks of {len(rows.lists):,} lists to {safe_line(as_utf8(options.file))}")
    _print_losses(made.lost)
    return 0


def _compose_file(format_: Format, rows: ExportData, count: int, file: str | None) -> _ComposedExport:
    now = _local_now()
    with ProgressBar("composing", count) as bar:
        text = "".join(bar.each(format_.write(rows, now)))
    with ProgressBar("checking", count) as bar:
        lost = Counter() if format_.is_whole else format_.count_losses(rows, text, now, bar.step)

    def write() -> None:
        if file is None:
            sys.stdout.write(text)
        else:
            atomic_file.replace(Path(file), text.encode())

    return _ComposedExport(lost, write)


def _compose_folder(format_: Format, rows: ExportData, count: int, file: str) -> _ComposedExport:
    now = _local_now()
    folder = folders.place(Path(file), format_.folders)
    present = folders.read(folder, format_.folders)
    with ProgressBar("composing", count) as bar:
        files = dict(bar.each(format_.write_folder(rows, present, now)))
    with ProgressBar("checking", count) as bar:
        lost = losses(rows, format_.read_folder({**present, **files}, now, bar.step), format_.name)

    def write() -> None:
        changed = {name: text for name, text in files.items() if present.get(name) != text}
        with ProgressBar("writing", len(changed)) as bar:
            folders.write(folder, changed, bar)

    return _ComposedExport(lost, write)


def _local_now() -> datetime:
    """Return the time in this machine's zone with its rules, so that days in another season begin at the right time."""
    from tui_tasks.core.schedule.fire_times import system_zone, zone_of

    return local_time(clock.now(), zone_of(system_zone()))


def _import(options: argparse.Namespace) -> int:
    identity = identity_of(options)
    if options.read_only:
        raise Forbidden("--read-only: nothing is imported")
    format_ = FORMATS[options.format]
    now = clock.now()
    with ProgressBar("reading", 0) as bar:
        if format_.is_folder:
            folder = folders.place(Path(options.file), format_.folders)
            folders.refuse_none(folder, format_.folders)
            found = format_.read_folder(folders.read(folder, format_.folders), _local_now(), bar.step)
        else:
            found = format_.read(_text(options.file), _local_now(), bar.step)
    with open_store(options) as store:
        _refuse_paused(store, identity)
        target, project = identity.list, identity.project
        importing = Importer(
            store, options.format, found, target=target, fallback=own_list("tasklist", project), project=project
        )
        with ProgressBar("importing", len(found.records)) as bar:
            outcome = importing.run(identity.agent, now, bar, rehearsal=options.dry_run)
    would = "would be " if options.dry_run else ""
    print(f"{outcome.added:,} {would}added, {outcome.changed:,} {would}changed, {outcome.unchanged:,} as they were")
    _print_losses(outcome.lost)
    return 0


def _text(file: str) -> str:
    if file == "-":
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        with Path(file).open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    return folders.decoded(file, content)


def _refuse_paused(store: Store, identity: Identity) -> None:
    known = messages.agent(store.db, identity.agent)
    if known is not None and known.paused:
        raise Paused(known.message, agent=identity.agent)


def _print_losses(lost: Counter[str]) -> None:
    """Print to standard error what the format cannot hold, the most frequent first."""
    for what, count in sorted(lost.items(), key=lambda each: (-each[1], each[0]))[:_MAX_PRINTED_LOSSES]:
        print(f"did not fit: {safe_line(what)} ({count:,} time{'s' * (count != 1)})", file=sys.stderr)
    if len(lost) > _MAX_PRINTED_LOSSES:
        print(f"and {len(lost) - _MAX_PRINTED_LOSSES:,} more kinds", file=sys.stderr)


def _sync(options: argparse.Namespace) -> int:
    require_database(options)
    identity = identity_of(options)
    path = Path(options.file)
    with open_store(options) as store:
        if not options.replace:
            _refuse_unknown(store, path)
        for _ in follow(store, path, identity.list, identity.project):
            if options.once:
                break
            time.sleep(_SYNC_INTERVAL_S)
    return 0


def _refuse_unknown(store: Store, path: Path) -> None:
    """Refuse to overwrite a file with tasks that the database does not have.

    Raises:
        InvalidArgument: it has some.
    """
    if not path.exists():
        return
    found = json_lines.read(_text(os.fspath(path)), local_time(clock.now()))
    unknown = sum(queries.any_task(store.db, record.id) is None for record in found.records)
    if unknown:
        raise InvalidArgument(
            "file", f"{path} holds {unknown:,} tasks that the database does not have: import it first, or say --replace"
        )


def follow(store: Store, path: Path, handle: str | None, project: str | None) -> Iterator[bytes]:
    """Write the file whenever the content changes, without end; yield each content after it is in the file.

    Raises:
        InvalidArgument: another program changed the file since it was written.
    """
    from tui_tasks.core.engine.watch import Watch

    watch = Watch(store.db)
    written: bytes | None = None
    try:
        while True:
            rows = exporting.rows(store.db, handle, project)
            content = "".join(json_lines.write(rows, local_time(clock.now()))).encode()
            there = path.read_bytes() if path.exists() else None
            if written is not None and there != written:
                raise InvalidArgument("file", f"{path} was changed by another program: import it, then start again")
            if there != content:
                atomic_file.replace(path, content)
            written = content
            yield content
            while not watch.changed(time.monotonic()):
                watch.sleep()
    finally:
        watch.close()
