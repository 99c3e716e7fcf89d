"""Tasks go out to every format and come back: what is lost is told exactly, and a second import changes nothing.

The state that came back is held against the first one, row by row: the fields that differ must be those that the export
has told, each as often as it told.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.soak.budget import Budget
from tui_tasks.cli import main as program
from tui_tasks.core.agent_names import IMPORTED
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, EnsureList, LogTask
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.snapshots import Task
from tui_tasks.core.store import Store
from tui_tasks.formats.format_table import FORMATS

TASKS = 10_000
_MINUTE = 60_000_000
_BEGIN = 1_770_000_000_000_000
_TOLD = re.compile(r"^(?:did not fit|left out): (\w+).*\(([\d,]+) (?:time|task)s?\)$", re.MULTILINE)
_TEXT = (
    "rotate keys migrate the database `parse()` <b>bold</b> **flaky** test on macOS café 日本 fix #12 @mom +garage "
    "due:2026-01-01 "
    "a: b x (A) [ ] - * > ``` -- --> <!-- 50% =SUM(1) \\ | 'quoted' \"double\" 🎉 e\u0301 \x1b[31m \u202e"
)
_WORDS = _TEXT.split(" ")
_STATUSES = ("pending", "pending", "pending", "in_progress", "done", "done", "failed", "skipped", "cancelled")


def soak(folder: Path, budget: Budget) -> str:
    """Export, import and import again in each format that goes both ways; return the figures."""
    first = folder / "first.db"
    count = _fill(first, budget.of(TASKS, 40))
    told = [f"{count:,} tasks out and back"]
    for name, format_ in FORMATS.items():
        if format_.is_written and not budget.is_over:
            told.append(_round(folder, first, name, count))
    return "; ".join(told)


def _fill(path: Path, count: int) -> int:
    """Make a project: lists, a plan, dependencies, logs, and texts that formats have a use for."""
    chance = random.Random(21)
    with Store(str(path)) as store:
        operations = [EnsureList("web", "task"), EnsureList("über api", "task"), CreatePlan("Ship it", "", "claude")]
        homes = store.commit(*operations, actor="claude", now=_BEGIN)
        uids: list[str] = []
        for at in range(0, count, 500):
            now = _BEGIN + at * _MINUTE
            made = [_task(chance, homes, uids) for _ in range(min(500, count - at))]
            uids += [task.uid for task in store.commit(*made, actor="claude", now=now)]
            store.commit(*_changes(chance, uids[at:]), actor="codex", now=now + 7_654_321)
    return count


def _text(chance: random.Random, most: int) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randint(1, most)))


def _task(chance: random.Random, homes: list[Any], uids: list[str]) -> AddTask:
    def maybe(value: Any, otherwise: Any = None) -> Any:
        return value if chance.random() < 0.3 else otherwise

    due = maybe(
        chance.choice(["2026-03-01", "2026-07-31", "2026-03-01T10:00:00.000+00:00", "2026-10-25T22:59:59.250+00:00"])
    )
    link = {"kind": "file", "target": chance.choice(["a.py", "my notes.md", "-- x'y.md"])}
    fields = {"due": due, "estimate": maybe(chance.randint(1, 999)), "links": maybe((link,))}
    fields = {name: value for name, value in fields.items() if value}
    return AddTask(
        f"Task {_text(chance, 6)}",
        chance.choice(homes).uid,
        maybe("\n".join(_text(chance, 9) for _ in range(chance.randint(1, 8))), ""),
        priority=chance.choice([1, 2, 3, 3, 3, 4, 5, 9]),
        tags=tuple(dict.fromkeys(maybe(chance.choices(["infra", "web", "a b", "C++", "x:y", "é"], k=2), ()))),
        domain=maybe(chance.choice(["auth", "pay ments"])),
        agent=maybe(chance.choice(["codex", "claude"])),
        intent=maybe("to see"),
        metadata=maybe(chance.choice([{"pr": 12}, [1, 2], "text"])),
        depends_on=tuple(dict.fromkeys(maybe(chance.choices(uids, k=2), ()) if uids else ())),
        fields=fields,
    )


def _changes(chance: random.Random, uids: list[str]) -> list[Any]:
    changes: list[Any] = [LogTask(uid, _text(chance, 5)) for uid in uids if chance.random() < 0.2]
    for uid in uids:
        status = chance.choice(_STATUSES)
        if status != "pending":
            result = chance.choice([None, "it works", {"tests": 12}])
            changes.append(EditTask(uid, {"status": status} | ({"result": result} if result else {})))
    return changes


def _round(folder: Path, first: Path, name: str, count: int) -> str:
    there, second = folder / f"there-{name}", folder / f"second-{name}.db"
    began = time.monotonic()
    told = _run("export", first, name, "-o", there)
    out = time.monotonic() - began
    if not FORMATS[name].is_read:
        return f"{name} {out:.1f} s out"
    began = time.monotonic()
    _run("import", second, name, there)
    back = time.monotonic() - began
    began = time.monotonic()
    printed = _run("import", second, name, there)
    assert f"0 added, 0 changed, {count:,} as they were" in printed, printed
    again = time.monotonic() - began
    printed = _run("import", first, name, there)
    assert f"0 added, 0 changed, {count:,} as they were" in printed, printed
    lost: Counter[str] = Counter()
    for field, often in _TOLD.findall(told):
        lost[field] += int(often.replace(",", ""))
    found = _differences(first, second)
    assert found == lost, {field: (found[field], lost[field]) for field in found | lost if found[field] != lost[field]}
    fields = ", ".join(f"{field} {often:,}" for field, often in sorted(lost.items()))
    return f"{name} {out:.1f} s out, {back:.1f} s back, {again:.1f} s again, lost: {fields or 'nothing'}"


def _run(command: str, database: Path, *words: str | Path) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = program.main([command, "--db", str(database), *map(str, words)])
    assert status == 0, printed.getvalue()
    return printed.getvalue()


def _differences(first: Path, second: Path) -> Counter[str]:
    """Count by field the tasks that are not the same in two databases."""
    different: Counter[str] = Counter()
    with Store(str(first), read_only=True) as one, Store(str(second), read_only=True) as other:
        for home in task_queries.lists(one.db):
            places = []
            for task in task_queries.tasks(one.db, home.id):
                came = task_queries.any_task(other.db, task.uid)
                if came is None:
                    different["the"] += 1
                    continue
                there = task_queries.list_by_id(other.db, came.list_id)
                different["list"] += (there.kind, there.name) != (home.kind, home.name)
                different.update(_fields(one, other, task, came))
                places.append((there.id, came.rank))
            order = {list_id: [rank for id_, rank in places if id_ == list_id] for list_id, _ in places}
            different["rank"] += sum(
                a != b for ranks in order.values() for a, b in zip(ranks, sorted(ranks), strict=True)
            )
    return +different


def _fields(one: Store, other: Store, task: Task, came: Task) -> set[str]:
    names = set(task.__struct_fields__) - {"id", "list_id", "rank", "version", "updated_at", "updated_by", "created_by"}
    names -= {"status_by"}  # imported, it is set by whoever imports
    names -= {"waiting_on", "solo", "claimed_by", "fenced"}
    found = {name for name in names - {"depends_on"} if getattr(task, name) != getattr(came, name)}
    if set(task.depends_on) != set(came.depends_on):
        found.add("depends_on")
    if _log(one, task.uid) != _log(other, task.uid):
        found.add("log")
    return found


def _log(store: Store, uid: str) -> list[tuple[int, str, str]]:
    """Return the log of a task, its authors as the files name them."""
    log = task_records.logs(store.db, uid)
    return [(entry.at, entry.agent.removeprefix(IMPORTED), entry.message) for entry in log]
