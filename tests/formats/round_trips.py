"""Tasks with every kind of field, and their ways out to a format and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, EnsureList, LinkNodes, LogTask, MoveTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.formats import exporting
from tui_tasks.formats.exporting import losses
from tui_tasks.formats.file_records import ParsedFile
from tui_tasks.formats.format_table import FORMATS, Format
from tui_tasks.formats.importing import Importer, ImportResult

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


LINKS = (
    {"kind": "branch", "target": "phone"},
    {"kind": "file", "target": "it's a file.md"},
    {"kind": "pull_request", "target": "https://example.org/o/r/pull/1"},
)


def filled(store: Store, now: int) -> list[str]:
    """Make two lists and a plan with every kind of field; return the uids of the tasks."""

    def run(*operations):
        return store.commit(*operations, actor="claude", now=now)

    (home,) = run(EnsureList("tasklist", "tasklist"))
    (plan,) = run(CreatePlan("Ship it", "all of it", "claude"))
    (one,) = run(
        AddTask("first \u202e\x1b[31m\nline", home.uid, "about", tags=("a", "b"), metadata={"x": [1, None, "\x9b"]})
    )
    (two,) = run(
        AddTask("second", home.uid, priority=1, depends_on=(one.uid,), fields={"due": "2026-02-01", "links": LINKS})
    )
    (three,) = run(AddTask("third", plan.uid, key="k", agent="codex", intent="why\x1b", fields={"estimate": 90}))
    (four,) = run(AddTask("fourth", home.uid, "- [ ] no task\n\n# no heading", domain="web", depends_on=(two.uid,)))
    run(MoveTask(two.uid, before=one.uid), LogTask(one.uid, "begun"), LogTask(one.uid, "x\x1b[1m\n---\ny"))
    run(LinkNodes(one.uid, ("n1",)), EditTask(one.uid, {"status": "in_progress"}))
    run(EditTask(four.uid, {"status": "failed", "due": "2026-03-01T10:00:00.500+00:00"}))
    store.commit(EditTask(three.uid, {"status": "done", "result": {"ok": True}}), actor="codex", now=now + 7)
    return [one.uid, two.uid, three.uid, four.uid]


def names(store: Store) -> list[str]:
    """The names of all tasks, in order."""
    return sorted(task.name for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id))


def out(store: Store, format_: Format, present: Mapping[str, str] | None = None) -> dict[str, str]:
    """Write everything; a format of one file is named ""."""
    rows = exporting.rows(store.db, None, None)
    if format_.is_folder:
        return dict(format_.write_folder(rows, present or {}, NOW))
    return {"": "".join(format_.write(rows, NOW))}


def read(format_: Format, files: Mapping[str, str]) -> ParsedFile:
    return format_.read_folder(files, NOW) if format_.is_folder else format_.read(files[""], NOW)


def bring(
    store: Store, format_: Format | str, files: Mapping[str, str] | str, now: int, *, list_name: str | None = None
) -> ImportResult:
    """Import what a file, or the files of a folder, hold."""
    format_ = FORMATS[format_] if isinstance(format_, str) else format_
    found = read(format_, {"": files} if isinstance(files, str) else files)
    return Importer(store, format_.name, found, target=list_name, fallback="tasklist", project=None).run("shell", now)


def lost(store: Store, format_: Format, files: Mapping[str, str]) -> Counter[str]:
    """What of the store is not in what was written of it."""
    return losses(exporting.rows(store.db, None, None), read(format_, files), format_.name)


def counts(outcome: ImportResult) -> tuple[int, int, int]:
    return outcome.added, outcome.changed, outcome.unchanged
