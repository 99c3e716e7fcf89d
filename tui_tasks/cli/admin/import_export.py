"""`export` and `import`, of files and of folders of Markdown (docs: formats)."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
import tempfile
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Final, NamedTuple

from tui_tasks import clock, regular_files
from tui_tasks.cli.options import REFUSED, USAGE, declare_new, identity_of, open_store, require_database
from tui_tasks.cli.streams import ProgressBar
from tui_tasks.cli.tasks import lookup
from tui_tasks.core.engine import file_writes
from tui_tasks.core.errors import Forbidden, InvalidArgument, Paused, as_utf8
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.task_fields import local_time
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SHELL
from tui_tasks.dialects.requests import Identity, own_list
from tui_tasks.formats import exporting
from tui_tasks.formats.exporting import losses
from tui_tasks.formats.file_records import ExportData, ParsedFile, Step
from tui_tasks.formats.format_table import FORMATS, Format
from tui_tasks.formats.importing import LEFT_ALONE, Importer
from tui_tasks.runner.run_marks import inside_run
from tui_tasks.state.open_store import check_keeper
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count

MAX_BYTES: Final = 256_000_000
# How many characters of an export are copied out at once.
_CHUNK: Final = 1_000_000


def decoded(name: str, content: bytes) -> str:
    """Return the text of a file.

    Raises:
        InvalidArgument: it is too long, or not UTF-8.
    """
    if len(content) > MAX_BYTES:
        raise too_long(name)
    return _decoded(name, content.removeprefix(BOM_UTF8), 0)


def decoded_lines(name: str, file: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a file without their ends: a file of any length takes little memory.

    Raises:
        InvalidArgument: as `decoded`.
    """
    left, at = MAX_BYTES, 0
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise too_long(name)
        content = line if at else line.removeprefix(BOM_UTF8)
        yield _decoded(name, content, at).removesuffix("\n")
        at += len(content)


def _decoded(name: str, content: bytes, at: int) -> str:
    """Decode a part of a file that begins at a byte."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        place = f"{error.reason} at byte {at + error.start}"
        raise InvalidArgument("file", f"{as_utf8(name)} is not UTF-8: {place}") from None


def too_long(name: str) -> InvalidArgument:
    """Return the refusal of a file or folder that is over the limit."""
    return InvalidArgument("file", f"{as_utf8(name)} holds over {MAX_BYTES:,} bytes: import it in parts")


def read_folder(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return the Markdown files in the named subfolders of a folder, by relative path.

    Raises:
        InvalidArgument: they are too long together, or one is not UTF-8.
    """
    files, left = {}, MAX_BYTES
    for path in sorted(path for name in names for path in (folder / name).glob("*.md")):
        if not path.is_file():
            continue
        try:
            content = regular_files.read_regular(path, left)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            raise too_long(str(folder)) from None
        left -= len(content)
        files[path.relative_to(folder).as_posix()] = decoded(str(path), content)
    return files


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
        message = f"{as_utf8(str(folder))} has no folder `{names[0]}`: name the folder that has it"
        raise InvalidArgument("file", message)


def write_folder(folder: Path, files: Mapping[str, str], bar: ProgressBar) -> None:
    """Write each file atomically, creating its folder. A file that begins with a byte order mark keeps it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        file_writes.write_named(path, BOM_UTF8 * _has_mark(path) + text.encode())
        bar.step()


def _has_mark(path: Path) -> bool:
    try:
        with open(regular_files.open_regular(path), "rb") as opened:  # noqa: PTH123 - a descriptor
            return opened.read(len(BOM_UTF8)) == BOM_UTF8
    except OSError:
        return False


_MAX_PRINTED: Final = 20


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.set_defaults(speaks_as=SHELL)
    reads = name == "import"
    known = {
        format_.name: format_.help for format_ in FORMATS.values() if (format_.is_read if reads else format_.is_written)
    }
    command.epilog = "Formats: " + "; ".join(f"{word} ({about})" for word, about in known.items()) + "."
    help_text = f"one of {', '.join(known)}"
    # Without one, `run` lists them.
    command.add_argument("format", metavar="FORMAT", nargs="?", choices=known, help=help_text)
    command.set_defaults(formats=list(known))
    if reads:
        command.add_argument("file", metavar="FILE", nargs="?", help="a file or a folder; - is standard input")
    else:
        command.add_argument(
            "-o", "--output", dest="file", metavar="FILE", help="write to this file instead of standard output"
        )
    if reads:
        declare_new(command)
    command.add_argument("--dry-run", action="store_true", help="show the result without changing anything")


def run(name: str, options: argparse.Namespace) -> int:
    """Run the command of that name; return the exit status."""
    if options.format is None or (name == "import" and options.file is None):
        usage = "FORMAT FILE" if name == "import" else "FORMAT"
        formats = ", ".join(options.formats)
        print(f"tui-tasks {name}: say {usage}; the formats are {formats}", file=sys.stderr)
        return USAGE
    with os_errors_printed(name):
        return {"export": _export, "import": _import}[name](options)
    return REFUSED


@contextlib.contextmanager
def os_errors_printed(command: str) -> Iterator[None]:
    """Print what the system refuses a command, and leave the block."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"tui-tasks {command}: {safe_line(os_error_text(error))}", file=sys.stderr)


def os_error_text(error: OSError) -> str:
    """Return which file cannot be used, and why: `tasks.md cannot be used: No such file or directory`."""
    if error.filename is None or error.strerror is None:
        return as_utf8(str(error)).removeprefix(f"[Errno {error.errno}] ")
    return f"{as_utf8(os.fsdecode(error.filename))} cannot be used: {error.strerror}"


class _ComposedExport(NamedTuple):
    """A composed export: how many tasks and lists it has, what the format loses, and a function that writes it."""

    tasks: int
    lists: int
    lost: Counter[str]
    write: Callable[[], None]


def _export(options: argparse.Namespace) -> int:
    require_database(options)
    format_ = FORMATS[options.format]
    if format_.is_folder and options.file is None:
        raise InvalidArgument("output", f"{format_.name} is a folder of files: name it by -o FOLDER")
    with open_store(options) as store, contextlib.ExitStack() as spooled:
        lookup.resolve_list(options, store.db)
        identity = identity_of(options)
        if format_.is_streamed:
            spool = spooled.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))
            made = _compose_streamed(format_, store, identity, options.file, spool)
        else:
            total = sum(home.total for home in task_queries.lists(store.db, identity.project))
            with ProgressBar("reading", total) as bar:
                rows = exporting.rows(store.db, identity.list, identity.project, bar.step)
            made = (_compose_folder if format_.is_folder else _compose_file)(format_, rows, options.file)
        if options.dry_run:
            print(f"would write {made.tasks:,} tasks of {made.lists:,} lists")
        else:
            made.write()
            if options.file is not None:
                print(f"wrote {made.tasks:,} tasks of {made.lists:,} lists to {safe_line(as_utf8(options.file))}")
    _print_losses(made.lost)
    return 0


def _count(rows: ExportData) -> int:
    return sum(len(tasks) for _, tasks in rows.lists)


def _compose_streamed(
    format_: Format, store: Store, identity: Identity, file: str | None, spool: IO[str]
) -> _ComposedExport:
    """Compose the file in `spool`, so that slow output does not keep a read transaction open."""
    now = _local_now()
    with store.db.transaction(write=False):
        rows = exporting.stored_rows(store.db, identity.list, identity.project)
        count = _count(rows)
        with ProgressBar("composing", count) as bar:
            spool.writelines(bar.each(format_.write(rows, now)))
        with ProgressBar("checking", count) as bar:
            lost = Counter() if format_.is_whole else format_.count_losses_in_parts(rows, now, bar.step)

    def parts() -> Iterator[str]:
        spool.seek(0)
        return iter(lambda: spool.read(_CHUNK), "")

    return _ComposedExport(count, len(rows.lists), lost, lambda: _write_file(file, parts()))


def _write_file(file: str | None, parts: Iterable[str]) -> None:
    """Write to the file that is named, or to standard output."""
    if file is None:
        sys.stdout.writelines(parts)
        return
    file_writes.write_named(Path(file), (part.encode() for part in parts))


def _compose_file(format_: Format, rows: ExportData, file: str | None) -> _ComposedExport:
    now = _local_now()
    count = _count(rows)
    with ProgressBar("composing", count) as bar:
        text = "".join(bar.each(format_.write(rows, now)))
    with ProgressBar("checking", count) as bar:
        lost = format_.count_losses(rows, text, now, bar.step)
    return _ComposedExport(count, len(rows.lists), lost, lambda: _write_file(file, [text]))


def _compose_folder(format_: Format, rows: ExportData, file: str) -> _ComposedExport:
    count = _count(rows)
    now = _local_now()
    folder = place(Path(file), format_.folders)
    present = read_folder(folder, format_.folders)
    with ProgressBar("composing", count) as bar:
        files = dict(bar.each(format_.write_folder(rows, present, now)))
    with ProgressBar("checking", count) as bar:
        lost = losses(rows, format_.read_folder({**present, **files}, now, bar.step), format_.name)

    def write() -> None:
        changed = {name: text for name, text in files.items() if present.get(name) != text}
        with ProgressBar("writing", len(changed)) as bar:
            write_folder(folder, changed, bar)

    return _ComposedExport(count, len(rows.lists), lost, write)


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
            folder = place(Path(options.file), format_.folders)
            refuse_none(folder, format_.folders)
            parsed = format_.read_folder(read_folder(folder, format_.folders), _local_now(), bar.step)
        else:
            parsed = _read_file(format_, options.file, bar.step)
    with open_store(options) as store:
        _refuse_paused(store, identity)
        lookup.resolve_new_list(options, store.db)
        check_keeper(is_in_run=inside_run(os.environ, store.db)).look(store, now)
        target, project = options.list, identity.project
        importing = Importer(
            store, options.format, parsed, target=target, fallback=own_list("tasklist", project), project=project
        )
        with ProgressBar("importing", len(parsed.records)) as bar:
            outcome = importing.run(identity.agent, now, bar, rehearsal=options.dry_run)
    would = "would be " if options.dry_run else ""
    deleted = f"{outcome.deleted:,} {would}deleted, " if outcome.deleted else ""
    print(
        f"{outcome.added:,} {would}added, {outcome.changed:,} {would}changed, {deleted}"
        f"{outcome.unchanged:,} as they were"
    )
    _print_some([f"passed over: {each}" for each in parsed.passed_over], "files passed over")
    _print_losses(outcome.lost)
    return 0


def _read_file(format_: Format, file: str, step: Step) -> ParsedFile:
    if file == "-":
        return format_.read(decoded_lines(file, sys.stdin.buffer), _local_now(), step)
    # It may be a FIFO, such as the shell makes for `<(…)`: the person has named it.
    with Path(file).open("rb") as opened:
        if os.fstat(opened.fileno()).st_size > MAX_BYTES:
            raise too_long(file)
        return format_.read(decoded_lines(file, opened), _local_now(), step)


def _refuse_paused(store: Store, identity: Identity) -> None:
    known = message_queries.agent(store.db, identity.agent)
    if known is not None and known.paused:
        raise Paused(known.message, agent=identity.agent)


def _print_losses(lost: Counter[str]) -> None:
    """Print to standard error what the format cannot hold, the most frequent first."""
    ordered = sorted(lost.items(), key=lambda each: (-each[1], each[0]))
    _print_some([_loss_text(what, many) for what, many in ordered], "kinds")


def _loss_text(what: str, many: int) -> str:
    left_out = what.removesuffix(": no place for it")
    if left_out != what:
        return f"left out: {left_out} ({count(many, 'task')})"
    return f"{'' if what.startswith(LEFT_ALONE) else 'did not fit: '}{what} ({count(many, 'time')})"


def _print_some(lines: list[str], called: str) -> None:
    """Print lines to standard error, the first of them if there are many."""
    for line in lines[:_MAX_PRINTED]:
        print(safe_line(line), file=sys.stderr)
    if len(lines) > _MAX_PRINTED:
        print(f"and {len(lines) - _MAX_PRINTED:,} more {called}", file=sys.stderr)
