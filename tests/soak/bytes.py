"""Memory is bounded by bytes, not by counts: few entries, tasks or replies of megabytes each fill no process.

Each read is made by a process of its own, whose memory at the most is held against what it was before the read.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Final

from tests.soak import long_reads
from tests.soak.budget import Budget
from tests.soak.quiet_terminal import QuietTerminal
from tests.soak.speaking import Speaker, memory, program, serve
from tui_tasks import clock
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.store import Store

ENTRIES: Final = 300
"""Changes of a text that is nearly as long as a request can be."""
LONG: Final = 900_000
TASKS: Final = 60
TAGS: Final = 95_000
MANY: Final = 1_000_000
MAX: Final = 64 << 20
"""What a read may take."""


def entries(database: Path, count: int) -> None:
    """Put so many long entries into the journal, of one task."""
    with Store(str(database)) as store:
        (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=clock.now())
        (task,) = store.commit(AddTask("long", home.uid), actor="agent", now=clock.now())
        for number in range(count):
            edit = EditTask(task.uid, {"description": f"{number} " + "d" * LONG})
            store.commit(edit, actor="agent", now=clock.now())


def pages(speaker: Speaker, count: int) -> None:
    """Read the whole history, as many entries at a time as may be asked for."""
    since: int | None = 0
    seen = 0
    while since is not None:
        page = speaker.ok("control:history", since=since, limit=10_000)
        seqs = [entry["seq"] for entry in page["entries"]]
        assert seqs == list(range(seen + 1, seen + 1 + len(seqs))), "an entry was left out"
        since, seen = page["next"], seqs[-1]
    assert seen == count, f"{seen} of {count} entries were told"


def newest(speaker: Speaker, count: int) -> None:
    """Read as many of the newest entries as may be asked for."""
    told = speaker.ok("control:history", limit=10_000)
    assert told["entries"][-1]["seq"] == count


def keyed(speaker: Speaker, count: int) -> None:
    """Read with keys, as if to have the replies kept."""
    for number in range(3):
        told = speaker.ok("control:history", {"idempotency_key": f"key {number}"}, limit=10_000)
        assert told["entries"][-1]["seq"] == count


def events(speaker: Speaker, count: int) -> None:
    """Hear everything from the first entry."""
    speaker.ok("control:subscribe", since=0)
    for seq in range(1, count + 1):
        assert speaker.hear()["seq"] == seq


def of_reads(database: Path, count: int) -> int:
    """The most that any of the reads took; none of them writes anything."""
    most = 0
    before = size(database)
    for read in (pages, newest, events, keyed):
        with serve(database) as speaker:
            speaker.ok("control:hello")
            at_first = memory(speaker.pid, "VmHWM")
            read(speaker, count)
            took = memory(speaker.pid, "VmHWM") - at_first
        assert took <= MAX, f"{read.__name__}: {took >> 20} MiB"
        most = max(most, took)
    assert size(database) <= before, "a read was written down"
    return most


def size(database: Path) -> int:
    return sum(file.stat().st_size for file in database.parent.glob(f"{database.name}*") if "shm" not in file.name)


def of_screen(folder: Path, tasks: int) -> int:
    """What a screen takes more for tasks of so many tags than for as many with none."""
    took = []
    for name, tags in (("without", ()), ("with", tuple(f"tag {number}" for number in range(TAGS)))):
        database = folder / f"{name}.db"
        with Store(str(database)) as store:
            (home,) = store.commit(EnsureList("task", "task"), actor="agent", now=clock.now())
            for number in range(tasks):
                adding = AddTask(f"task number {number}", home.uid, tags=tags)
                store.commit(adding, actor="agent", now=clock.now())
        settings = {"TUI_TASKS_CONFIG": str(folder / "none.toml")}
        command = program("watch", "--db", database, "--list", "task")
        screen = QuietTerminal(command, lines=24, columns=100, environment=settings)
        try:
            screen.wait_for(lambda screen=screen: screen.shows("task number 3"))
            for key in "G2g1":
                screen.type(key)
            screen.type("?")
            screen.wait_for(lambda screen=screen: screen.shows("Run  ↑↓ Choose"))
            took.append(memory(screen.process.pid, "VmHWM"))
            screen.process.send_signal(signal.SIGTERM)
            screen.ends()
        finally:
            screen.close()
    more = took[1] - took[0]
    assert more <= MAX, f"{tasks} tasks of {TAGS:,} tags took the screen {more >> 20} MiB"
    return max(0, more)


def of_tools(folder: Path, budget: Budget) -> str:
    """Ask every tool that reads for a long list of long things, and for one of very many; return what it took."""
    database = folder / "long.db"
    with serve(database) as speaker:
        named = long_reads.fill_long(speaker.ok, long_reads.COUNT)
    told = long_reads.of_tools(database, named, MAX)
    many = folder / "many.db"
    told_of_many = long_reads.of_tools(many, long_reads.fill_many(many, MANY), MAX, "--list", long_reads.MANY)
    rows = [f"{tool} {took >> 20} ({told_of_many[tool][0] >> 20})" for tool, (took, _) in told.items()]
    longest = max(size for _, size in (*told.values(), *told_of_many.values()))
    return (
        f"; replies of up to {longest >> 20} MiB, of {long_reads.COUNT} things of {long_reads.LONG:,} bytes "
        f"({MANY:,} tasks), with MiB at the most: {', '.join(rows)}"
    )


def soak(folder: Path, budget: Budget) -> str:
    # Each has the old text and the new one: together they are a quarter more than a read may take.
    count = budget.of(ENTRIES, least=48)
    database = folder / "tasks.db"
    entries(database, count)
    read = of_reads(database, count + 1)
    tasks = budget.of(TASKS, least=30)
    shown = of_screen(folder, tasks)
    by_tools = of_tools(folder, budget) if budget.share == 1 else ""
    return (
        f"{count:,} changes of {LONG:,} bytes read whole, newest, as events and by key, with {read >> 20} MiB at the "
        f"most and nothing kept; {tasks} tasks of {TAGS:,} tags on the screen with {shown >> 20} MiB more{by_tools}"
    )
