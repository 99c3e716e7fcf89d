"""`control:*` on tasks and lists: reading, finding, changing and linking them (docs: protocol, section 7)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidArgument, NotFound, Problem
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import DeletePlan, EditTask, MoveTask
from tui_tasks.core.read.tasks import task_queries, task_search
from tui_tasks.core.schema import task_links
from tui_tasks.core.schema.task_fields import FIELDS, local_time
from tui_tasks.core.snapshots import Task, TaskList, iso
from tui_tasks.dialects.long_replies import ArrayWriter, page_array
from tui_tasks.dialects.requests.arguments import (
    Arguments,
    Clearing,
    Name,
    Nothing,
    Tags,
    TaskUid,
    Text,
    Uid,
)
from tui_tasks.dialects.tool_table import FULL_TASK, INTEGER, TEXT, Call, Table, list_of, object_of

_FOUND: Final = object_of("uid number name status list agent priority updated_at", uid=TEXT, number=INTEGER)


TASKS = Table()
# Some arguments are called `list`.
_list = list
MAX_PAGE = 10_000
MAX_PRIORITY = 1_000_000_000


class OneTask(Arguments):
    """The arguments of a tool about one task."""

    uid: TaskUid


@TASKS.tool("control:task", OneTask, output=FULL_TASK)
def show_task(call: Call, given: OneTask) -> dict[str, Any]:
    """Read one task with every field. Its `version`, as `if_version`, makes a write fail if it has changed."""
    return call.full(task_queries.task(call.db, given.uid))


Priority = Annotated[
    Annotated[str, Meta(pattern=r"\S")] | int,
    Meta(description="1 is urgent, 4 low; or a word.", extra_json_schema={"type": "integer"}),
]
Status = Literal["pending", "in_progress", "done", "failed", "skipped", "cancelled"]


class _Find(Arguments):
    text: Annotated[Name, Meta(description="In name or description, in any case.")] | None = None
    list: Annotated[Name, Meta(description="A plan by its id.")] | None = None
    status: Annotated[_list[Status], Meta(description="Any of these.")] = []
    tag: Name | None = None
    agent: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100
    after: Annotated[TaskUid, Meta(description="The `next` of the last page.")] | None = None


@TASKS.tool("control:find", _Find, output=object_of("tasks next", tasks=list_of(_FOUND)))
def find(call: Call, given: _Find) -> dict[str, Any]:
    """Find tasks in all lists that match every argument, oldest first. With only `list` it reads that whole list.

    Returns `tasks` in brief and `next`, the `after` of the next page (null at the end).
    """
    handle = given.list or call.bound_list
    home = task_queries.find_list(call.db, handle) if handle is not None else None
    if handle is not None and home is None:
        if given.list is None:
            return {"tasks": [], "next": None}
        raise NotFound("list", handle)
    behind = 0
    if given.after is not None:
        last = task_queries.any_task(call.db, given.after)
        if last is None:
            raise NotFound("task", given.after)
        behind = last.id
    tasks = task_search.of_all_lists(
        call.db,
        text=given.text,
        list_id=None if home is None else home.id,
        statuses=given.status or vocab.STATUSES,
        tag=given.tag,
        agent=given.agent,
        behind=behind,
    )
    array, last_uid, more = ArrayWriter(call.db), None, False
    with closing(tasks):
        for number, (task, of) in enumerate(tasks):
            if more := number == given.limit:
                break
            array.add(_found_json(task, of))
            last_uid = task.uid
    return {"tasks": array.value(), "next": last_uid if more else None}


def _found_json(task: Task, home: TaskList) -> dict[str, Any]:
    shown = {name: getattr(task, name) for name in ("uid", "number", "name", "status")}
    return {
        **shown,
        "list": home.handle,
        "agent": task.agent,
        "priority": task.priority,
        "updated_at": iso(task.updated_at),
    }


@TASKS.tool("control:lists", Nothing, output=list_of(object_of("name kind plan_id counts", name=TEXT, kind=TEXT)))
def lists(call: Call, given: Nothing) -> Any:
    """Read all lists and plans, oldest first, with counts by status."""
    only = call.only_list
    chosen = (
        (task_queries.list_by_id(call.db, only.id) for _ in (0,))
        if only is not None
        else task_queries.each_list(call.db)
    )
    if only is None and call.channel.identity.list_only:
        return []
    return page_array(call.db, chosen, None, _list_json)


def _list_json(home: TaskList) -> dict[str, Any]:
    return {
        "name": home.name,
        "kind": home.kind,
        "plan_id": home.uid if home.kind == "plan" else None,
        "project": home.project,
        "one_in_progress": home.one_in_progress,
        "archived": home.archived,
        "counts": {status: getattr(home, status) for status in vocab.STATUSES},
    }


class _Update(Clearing, kw_only=True):
    uid: TaskUid
    name: Name | None = None
    description: Text | None = None
    status: Status | None = None
    priority: Priority | None = None
    tags: Tags | None = None
    domain: Name | None = None
    agent: Annotated[Name, Meta(description="Who does it.")] | None = None
    depends_on: Annotated[_list[TaskUid], Meta(description="All its dependencies.", extra={"split": ","})] | None = None
    due: (
        Annotated[
            str,
            Meta(max_length=40, description="2026-01-31, or 2026-01-31T17:00+01:00."),
        ]
        | None
    ) = None
    estimate: Annotated[int, Meta(ge=0, le=525_600, description="Minutes.")] | None = None
    result: Annotated[dict[str, Any], Meta(description="The outcome.")] | None = None
    list: Annotated[Name, Meta(description="Move it there (a plan by its id).")] | None = None
    before: Annotated[TaskUid, Meta(description="Put it right before this one.")] | None = None
    after: TaskUid | None = None

    @classmethod
    def hint(cls, path: str, value: Any) -> str:
        """Return what to send in place of a value."""
        return {"estimate": "it is a number of minutes", "result": 'as {"summary": "..."}'}.get(path, "")

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterable[Problem]:
        """Yield what is wrong with the due date, the priority and the place, and that nothing is given."""
        if isinstance(due := given.get("due"), str) and due:
            try:
                FIELDS["due"].parse(due, local_time(now))
            except ValueError as error:
                yield "due", f"due: {error}"
        if "priority" in given and _priority(given["priority"]) is None:
            yield "priority", "priority: it is urgent, high, medium, low, or a whole number from 1"
        if given.get("before") is not None and given.get("after") is not None:
            yield "after", "after: it does not go with before"
        if not (given.keys() - {"uid", "cleared"} or _CLEARED.keys() & set(given["cleared"])):
            names = [name for name in cls.__struct_fields__ if name not in ("uid", "cleared")]
            yield names[0], f"at least one of {', '.join(names)} is needed"


# What null sets a field to; other fields cannot be cleared.
_CLEARED: dict[str, Any] = {
    "description": "",
    "priority": vocab.MEDIUM,
    "tags": (),
    "depends_on": (),
    **dict.fromkeys(("domain", "agent", "due", "estimate", "result")),
}


def _priority(given: Any) -> int | None:
    """Return a priority that is given as a word or a number; None if it is neither."""
    if isinstance(given, str):
        word = given.strip().lower()
        number = vocab.PRIORITY_WORDS.get(word) or (int(word) if word.isascii() and word.isdecimal() else 0)
    else:
        number = given if isinstance(given, int) else 0
    return number if vocab.URGENT <= number <= MAX_PRIORITY else None


@TASKS.tool("control:update_task", _Update, writes=True, subject="uid", idempotent=True, output=FULL_TASK)
def update_task(call: Call, given: _Update) -> dict[str, Any]:
    """Set any field of any task, its list and its place, in one change; null clears a field.

    Returns the task.
    """
    task = task_queries.task(call.db, given.uid)
    changes = _changes(given, call.now)
    steps: list[Operation] = [EditTask(task.uid, changes)] if changes else []
    if (move := _move(call, given, task)) is not None:
        # The rule of one task in progress holds in the list that it will be in.
        steps.insert(0 if changes.get("status", task.status) == "in_progress" else len(steps), move)
    for step in steps:
        call.run(step)
    return call.full(task_queries.task(call.db, task.uid))


def _changes(given: _Update, now: int) -> dict[str, Any]:
    changes = {name: _CLEARED[name] for name in given.cleared if name in _CLEARED}
    for name in ("name", "description", "status", "domain", "agent", "result"):
        if (value := getattr(given, name)) is not None:
            changes[name] = value
    for name in ("tags", "depends_on"):
        if (values := getattr(given, name)) is not None:
            changes[name] = tuple(dict.fromkeys(values))
    if given.priority is not None:
        changes["priority"] = _priority(given.priority)
    for name, field in FIELDS.items():
        if (value := getattr(given, name, None)) is not None:
            changes[name] = field.parse(str(value), local_time(now)) if value else None
    return changes


def _move(call: Call, given: _Update, task: Task) -> MoveTask | None:
    """Return the move that is asked for, or None.

    Raises:
        NotFound: there is no such list or task.
        InvalidArgument: the task beside which to put it is in another list.
    """
    home = task_queries.list_by_id(call.db, task.list_id)
    if given.list is not None:
        target = task_queries.find_list(call.db, given.list)
        if target is None:
            raise NotFound("list", given.list)
        home = target
    argument = "before" if given.before is not None else "after"
    beside = given.before or given.after
    if beside is not None:
        there = task_queries.list_by_id(call.db, task_queries.task(call.db, beside).list_id)
        if there.id != home.id:
            message = f"{argument}: that task is in {there.handle}, not in {home.handle}; name its list with list"
            raise InvalidArgument(argument, message, id=beside)
    elif home.id == task.list_id:
        return None
    return MoveTask(task.uid, given.before, given.after, home.uid)


class _OnePlan(Arguments):
    plan_id: Uid


@TASKS.tool(
    "control:delete_plan",
    _OnePlan,
    writes=True,
    destructive=True,
    output=object_of("plan_id deleted", plan_id=TEXT, deleted=INTEGER),
)
def delete_plan(call: Call, given: _OnePlan) -> dict[str, Any]:
    """Delete a plan with its tasks. The human can undo it."""
    plan = call.run(DeletePlan(given.plan_id))
    return {"plan_id": plan.uid, "deleted": plan.total}


class _Link(OneTask):
    kind: Literal["branch", "commit", "pull_request", "file"]
    target: Annotated[str, Meta(description="Name, hash, https address or path.")]
    remove: bool = False


@TASKS.tool("control:link", _Link, writes=True, subject="uid")
def link(call: Call, given: _Link) -> dict[str, Any]:
    """Link a task to a branch, commit, pull request or file; `remove` unlinks. Returns the task."""
    try:
        wanted = task_links.checked(given.kind, given.target)
        links = task_links.changed(task_queries.task(call.db, given.uid).links, [wanted], remove=given.remove)
    except ValueError as error:
        raise InvalidArgument("target", f"target: {error}") from None
    return call.full(call.run(EditTask(given.uid, {"links": links})))
