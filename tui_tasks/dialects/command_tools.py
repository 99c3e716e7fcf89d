"""The tools behind the commands of the command line, in addition to those of agents; no agent is served these."""

from __future__ import annotations

from typing import Any, Final, Literal

from tui_tasks.core.commit import journal
from tui_tasks.core.errors import CannotUndo, Conflict, InvalidArgument
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask, MoveTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.schema import task_links
from tui_tasks.dialects.requests.arguments import Arguments, Name, Natural, Nothing, Text, Uid
from tui_tasks.dialects.tool_table import TABLE, Call, Table, Tool


class _Verbs(Table):
    """The tools of this module, and those of agents."""

    def find(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return super().find(name) or TABLE.find(name)


SHELL = _Verbs()


class _Add(Arguments):
    name: Name
    description: Text = ""
    tags: list[Name] = []
    priority: Natural | None = None
    agent: Name | None = None
    depends_on: list[Uid] = []
    fields: dict[str, Any] = {}  # values of `task_fields.FIELDS`, as they are kept


@SHELL.tool("shell:add", _Add, writes=True)
def add(call: Call, given: _Add) -> dict[str, Any]:
    """Add a task to the tasklist, or to the list that is named."""
    home = call.made_home("tasklist")
    fields = {name: getattr(given, name) for name in ("priority", "agent") if getattr(given, name) is not None}
    task = AddTask(
        given.name,
        home.uid,
        given.description,
        tags=tuple(given.tags),
        depends_on=tuple(given.depends_on),
        fields=given.fields,
        **fields,
    )
    return call.full(call.run(task))


# What an edit can empty, by the word of the command line: the field, and its value.
EMPTIED: Final[dict[str, tuple[str, Any]]] = {
    "description": ("description", ""),
    "tags": ("tags", ()),
    "agent": ("agent", None),
    "after": ("depends_on", ()),
}


class _Edit(Arguments):
    uid: Uid
    name: Name | None = None
    description: Text | None = None
    tags: list[Name] = []
    priority: Natural | None = None
    agent: Name | None = None
    depends_on: list[Uid] = []
    fields: dict[str, Any] = {}  # values of `task_fields.FIELDS`, as they are kept
    untag: list[Name] = []
    not_after: list[Uid] = []
    clear: list[Literal["description", "tags", "agent", "after"]] = []


@SHELL.tool("shell:edit", _Edit, writes=True, subject="uid")
def edit(call: Call, given: _Edit) -> dict[str, Any]:
    """Set what is given; tags and dependencies are added to those that there are, less those to be taken away."""
    before = task_queries.task(call.db, given.uid)
    emptied = dict(EMPTIED[word] for word in given.clear)
    changes: dict[str, Any] = dict(emptied)
    tags = (*emptied.get("tags", before.tags), *given.tags)
    changes["tags"] = tuple(tag for tag in dict.fromkeys(tags) if tag not in given.untag)
    depends_on = (*emptied.get("depends_on", before.depends_on), *given.depends_on)
    changes["depends_on"] = tuple(uid for uid in dict.fromkeys(depends_on) if uid not in given.not_after)
    for name in ("name", "description", "priority", "agent"):
        if getattr(given, name) is not None:
            changes[name] = getattr(given, name)
    changes |= given.fields
    return call.full(call.run(EditTask(given.uid, changes)))


class _Status(Arguments):
    uids: list[Uid]
    status: Name
    reason: Text = ""


@SHELL.tool("shell:status", _Status, writes=True)
def set_status(call: Call, given: _Status) -> list[dict[str, Any]]:
    """Set the status of tasks, and log the reason for it, as one change."""
    for uid in given.uids:
        call.run(EditTask(uid, {"status": given.status}))
        if given.reason.strip():
            call.run(LogTask(uid, given.reason.strip()))
    return [call.full(task_queries.task(call.db, uid)) for uid in given.uids]


class _Move(Arguments):
    uid: Uid
    before: Uid | None = None
    after: Uid | None = None
    list: Name | None = None
    first: bool = False
    last: bool = False


@SHELL.tool("shell:move", _Move, writes=True, subject="uid")
def move(call: Call, given: _Move) -> dict[str, Any]:
    """Put a task before or after another, at an end of its list, or at the end of another list."""
    if given.first or given.last:
        from tui_tasks.core.read.pages import list_pages  # for a place at an end alone

        task = task_queries.task(call.db, given.uid)
        (first,) = list_pages.after(call.db, task.list_id, list_pages.FIRST, 1)
        (last,) = list_pages.before(call.db, task.list_id, list_pages.LAST, 1)
        place = MoveTask(task.uid, before=first.uid) if given.first else MoveTask(task.uid, after=last.uid)
        return call.full(call.run(place))
    # The command has asked the person whether to make a list that is not there.
    home = call.run(EnsureList(given.list, "tasklist", call.project)) if given.list is not None else None
    where = MoveTask(given.uid, given.before, given.after, home.uid if home else None)
    return call.full(call.run(where))


class _Link(Arguments):
    uid: Uid
    links: list[dict[str, str]]
    remove: bool = False


@SHELL.tool("shell:link", _Link, writes=True, subject="uid")
def link(call: Call, given: _Link) -> dict[str, Any]:
    """Link a task to its work, or take links away."""
    try:
        links = task_links.changed(task_queries.task(call.db, given.uid).links, given.links, remove=given.remove)
    except ValueError as error:
        raise InvalidArgument("links", str(error)) from None
    return call.full(call.run(EditTask(given.uid, {"links": links})))


class _Undo(Arguments):
    passed_over: list[Natural] = []


@SHELL.tool("shell:undo", _Undo, writes=True, in_steps=True)
def undo(call: Call, given: _Undo) -> dict[str, int]:
    """Take back the speaker's newest change in the project that stands, except those passed over."""
    try:
        last, _ = call.run(Undo(passed_over=tuple(given.passed_over), project=call.project))
    except CannotUndo as refused:
        over = "".join(f" --pass-over {change}" for change in (*given.passed_over, refused.change))
        raise Conflict(
            f"change {refused.change} ({_described(call, refused.change)}) cannot be undone: {refused.message}; "
            f"`tui-tasks undo{over}` undoes the one before"
        ) from refused
    return {"undone": last}


def _described(call: Call, change: int) -> str:
    """Return the first entry of a change in a few words: `updated task #3 "Rotate keys"`."""
    entry = journal.entry(call.db, change)
    task = task_queries.any_task(call.db, entry.task) if entry.task is not None else None
    if task is None:
        return entry.kind.replace(".", " ")
    return f"{entry.kind.removeprefix('task.').replace('.', ' ')} {named(task)}"


@SHELL.tool("shell:redo", Nothing, writes=True, in_steps=True)
def redo(call: Call, given: Nothing) -> dict[str, int]:
    """Take back the speaker's newest undo."""
    last, _ = call.run(Redo())
    return {"redone": last}


class _Named(Arguments):
    uids: list[Uid]


@SHELL.tool("shell:delete", _Named, writes=True)
def delete(call: Call, given: _Named) -> list[dict[str, Any]]:
    """Take tasks out of their lists, as one change."""
    return [call.full(call.run(DeleteTask(uid))) for uid in given.uids]
