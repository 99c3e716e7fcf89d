"""`doctor`: problems of the database, its file, the clock, its runs and the settings, and what to do about them."""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from tui_tasks import clock
from tui_tasks.cli.admin import program_findings, sync_file
from tui_tasks.cli.options import REFUSED, open_store
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import library_version, storage_errors
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.database_findings import with_read_failure, wrong_values
from tui_tasks.core.read import check_queries, job_queries, work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.rules.recorded_settings import other_source
from tui_tasks.core.snapshots import iso
from tui_tasks.core.store import Store
from tui_tasks.installation import is_replica
from tui_tasks.settings import config, paths
from tui_tasks.settings.live_settings import source_of
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import SECOND, count

# Microseconds by which a clock may be behind the newest entry: small drifts are normal.
DRIFT = 2 * SECOND
# If entries of different processes are this many microseconds apart in the wrong order, their clocks differ.
WRONG = 30 * SECOND
# The number of newest entries that are compared.
LOOKED_AT = 10_000


def declare(_name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("--replay", action="store_true", help="compare the tables with a long journal too")


def run(_name: str, options: argparse.Namespace) -> int:
    """Print the problems; return the exit status."""
    options.read_only = True
    with open_store(options) as store:
        print(summary(store, replays=options.replay))
        named = Path(paths.database(options.db))
        found = list(findings(store, paths.configuration(), clock.now(), named, replays=options.replay))
        found += _print_server(store, whole=options.replay)
        found += with_read_failure(_print_programs(store))
        found += sync_file.merge_findings(Path.cwd())
    for finding in found:
        print(f"! {safe_line(finding)}")
    print(count(len(found), "problem") if found else "no problems")
    return REFUSED if found else 0


def _print_server(store: Store, *, whole: bool) -> Iterator[str]:
    """Print what the server of a replica holds; yield what is wrong there, or with the replica."""
    if not is_replica(store.path):
        return
    from tui_tasks.postgres.replica import Replica
    from tui_tasks.postgres.server_findings import compare

    assert isinstance(store.db, Replica)
    about, *findings = compare(store.db, clock.now(), whole=whole)
    print(safe_line(about))
    yield from findings


def _print_programs(store: Store) -> Iterator[str]:
    """Print which agent programs are set up here, and when each last sent a report; yield their problems."""
    last_seen: dict[str, int] = {}
    for seen in session_queries.everyone(store.db):
        program = seen.session.program
        last_seen[program] = max(last_seen.get(program, 0), seen.activity.last_seen)
    for one in program_findings.all_installed(Path.cwd()):
        parts = " and ".join(one.parts)
        if one.has_hooks:
            at = last_seen.get(one.name)
            parts += ", no event yet" if at is None else f", last heard {iso(at)}"
        print(safe_line(f"{one.name}: {parts or 'cannot be read'}, {one.place}"))
        for problem in one.problems:
            yield f"{one.name}: {problem}"


def findings(
    store: Store, settings: Path, now: int, named: Path | None = None, *, replays: bool = False
) -> Iterator[str]:
    """Yield all problems, one or two sentences for each. `now` is in microseconds since the epoch.

    `named` is the database's path as given, possibly a link. `replays`: also compare the tables with a replay of the
    journal, which may take long.
    """
    damage = [*database_findings.findings(store.db), *with_read_failure(wrong_values(store.db))]
    yield from damage
    yield from paths.findings_on_database(named or Path(store.path))
    yield from log_findings(Path(store.path))
    yield from disk_findings(Path(store.path))
    if not damage:
        yield from _clock(store.db, now)
        if replays or database_findings.is_quick(store.db):
            yield from with_read_failure(database_findings.differences(store.db))
        yield from _stopped_supervisors(store.db)
        yield from with_read_failure(_orphans_of_work(store))
    if not damage and (other := other_source(store.db, source_of(settings))) is not None:
        yield f"checks and reviewed lists come from {other}, not from {settings} (`tui-tasks config --use`)"
    given, problems = config.load(settings)
    if (lacking := check_queries.not_run_here(store.db, given.check)) is not None:
        yield lacking
    yield from map(str, problems)
    if settings.exists():
        yield from paths.findings_on_private_settings(settings)
        yield from _runners(settings)
    themes = settings.parent / "themes"
    if themes.exists():
        yield from paths.findings_on_settings(themes, "themes")


def _orphans_of_work(store: Store) -> Iterator[str]:
    """Yield worktrees, terminals and work that have lost their other half."""
    if not work_queries.has_any(store.db):
        return
    from tui_tasks.work import recovery  # few databases have work

    yield from recovery.orphans(store)


def summary(store: Store, *, replays: bool = False) -> str:
    """Return what was checked."""
    try:
        with storage_errors(store.path):
            entries = count(journal.newest(store.db), "journal entry", "journal entries")
            if not replays and not database_findings.is_quick(store.db):
                entries += " (only doctor --replay compares so many with the tables)"
    except StorageFailed:
        entries = "a journal that cannot be read"
    return f"{store.path}: {entries}, SQLite {library_version()}"


def _runners(settings: Path) -> Iterator[str]:
    """Yield programs of runners that are not found where runs would look for them."""
    from tui_tasks.settings import run_tables

    runners, _ = run_tables.read_runners(config.load(settings)[0].runner, str(settings))
    for name, profile in runners.profiles.items():
        program = profile.command[0]
        if "/" in program and not program.startswith("/"):
            continue  # it is relative to the folder of each run
        if shutil.which(program, path=profile.passed_on(os.environ).get("PATH", os.defpath)) is None:
            table = f"runner.{name}" if name else "runner"
            yield f"{settings}: the program of [{table}], {program}, is not found: its jobs would end at once"


def _stopped_supervisors(db: Database) -> Iterator[str]:
    """Yield the runs whose supervisor is suspended; a scheduler would have continued it."""
    from tui_tasks.runner import run_holders

    for heartbeat in run_holders.stopped(db):
        run = job_queries.any_run(db, heartbeat.run_uid)
        job = job_queries.any_job(db, run.job_uid) if run is not None else None
        what = f"a run of job {job.name!r}" if job is not None else "a run of a check"
        yield (
            f"the supervisor of {what} is stopped (process {heartbeat.pid}): the run has no timeout and keeps its "
            f"place. Start a scheduler, which continues it (tui-tasks scheduler), or run `kill -CONT {heartbeat.pid}`"
        )


def _clock(db: Database, now: int) -> Iterator[str]:
    for entry in journal.latest(db, 1):
        if entry.at - now > DRIFT:
            behind = timedelta(microseconds=entry.at - now)
            yield (
                f"the clock is {behind} behind the newest entry, or that one's clock was ahead: correct it, "
                "or ages and schedules will be wrong"
            )
    yield from _contradictions(db)
    for uid in job_queries.decided_ahead(db, now + WRONG):
        job = job_queries.job(db, uid)
        ahead = timedelta(seconds=(job.decided_until - now) // SECOND)
        yield (
            f"job {job.name!r} was decided until {ahead} from now, by a clock that was ahead: a scheduler with a "
            "correct clock reverts that (tui-tasks scheduler)"
        )


def _contradictions(db: Database) -> Iterator[str]:
    """Yield, of the newest entries, the one that a later one contradicts most."""
    rows = db.sql("SELECT at, seq, actor FROM journal ORDER BY seq DESC LIMIT ?", (LOOKED_AT,)).fetchall()
    most, worst = WRONG, ""
    latest = rows[-1] if rows else (0, 0, "")
    for at, seq, actor in reversed(rows):
        if latest[0] - at > most:
            most = latest[0] - at
            apart = timedelta(seconds=most // SECOND)
            worst = (
                f"entry {latest[1]:,} ({latest[2]}) is dated {apart} after entry {seq:,} ({actor}), which came later: "
                "a clock is wrong, or was set. It has ended nothing; correct it if it is still wrong"
            )
        latest = max(latest, (at, seq, actor))
    if worst:
        yield worst


LARGE = 96 << 20
"""Bytes: a checkpoint runs at 16 MiB, one large change may need more, and 64 MiB may be kept for reuse."""
_PROC = Path("/proc")


def log_findings(database: Path, proc: Path = _PROC) -> Iterator[str]:
    """Yield a finding where the log is large, with the processes to look at."""
    log = Path(f"{database}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size < LARGE:
        return
    begun = f"{log} has grown to {size >> 20} MiB: a process that is stopped during a read holds it. "
    others = list(_processes_using(database, proc))
    stopped = [f"kill -CONT {pid} ({command})" for pid, command, state in others if state in "Tt"]
    if stopped:
        yield f"{begun}Continue or end the stopped process: {', '.join(stopped)}"
    elif others:
        yield f"{begun}End what does not answer among {', '.join(f'{pid} ({command})' for pid, command, _ in others)}"
    else:
        yield f"{begun}Look for a stopped tui-tasks (state T in ps), and continue or end it"


LITTLE_SPACE = 16 << 20
"""Bytes: the log of writes grows to this before a checkpoint."""


def disk_findings(database: Path) -> Iterator[str]:
    """Yield a finding where the disk has little space, and one for each copy that a killed process has left."""
    folder = database.parent
    free = shutil.disk_usage(folder).free
    if free < LITTLE_SPACE:
        yield f"{folder} has {free >> 20} MiB free: writes fail without space. Free some"
    for part in sorted(folder.glob(f".{glob.escape(database.name)}.*")):
        copy = re.fullmatch(r"(\d+)\.\d+", part.name.removeprefix(f".{database.name}."))
        if copy is not None and not _is_running(int(copy[1])):
            yield f"{part} is left of a backup, restore or compact that was killed: delete it"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _processes_using(database: Path, proc: Path) -> Iterator[tuple[int, str, str]]:
    """Yield id, command line and state of other processes with the database open, as far as /proc shows them."""
    for place in sorted(proc.glob("[0-9]*"), key=lambda place: int(place.name)):
        try:
            if int(place.name) != os.getpid() and any(
                handle.readlink() == database for handle in (place / "fd").iterdir()
            ):
                command = (place / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").replace("\0", " ")
                state = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                yield int(place.name), command, state
        except OSError:  # the process has ended, or is another user's
            continue
