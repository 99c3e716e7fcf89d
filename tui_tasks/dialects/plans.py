"""`tasks` and the eight tools that it replaces (seed 004): plans, who does what, and saved states to resume tasks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidArgument, NotFound
from tui_tasks.core.operations.lists import CreatePlan
from tui_tasks.core.operations.tasks import AddTask, EditTask, LinkNodes, LogTask, SaveState
from tui_tasks.core.read.tasks import queries, ready, records
from tui_tasks.core.snapshots import LogEntry, SavedState, Task, TaskList, iso
from tui_tasks.dialects.base import Call, Table, Words, one_of
from tui_tasks.dialects.json_shapes.paging import Page, page_array
from tui_tasks.dialects.requests.actions import Actions
from tui_tasks.dialects.requests.arguments import Arguments, Name, TaskUid, Text, Uid
from tui_tasks.dialects.requests.task_references import full_uid

PLANS = Table()
TASKS = Actions()
HIGHEST = 1_000_000_000
MAX_NOTES = 100

WORDS = Words(
    {
        "pending": "pending",
        "in_progress": "in_progress",
        "done": "done",
        "failed": "cancelled",
        "skipped": "cancelled",
        "cancelled": "cancelled",
    }
)

AgentId = Annotated[Name, Meta(description="An agent's name; left out: yours, or any.")]
TaskId = TaskUid
# Any JSON value that an agent stores; the schema asks for text.
Entry = Annotated[Any, Meta(extra_json_schema={"type": "string"})]
PlanId = Annotated[Uid, Meta(description="Of this plan alone.")]
Suggest = Annotated[bool, Meta(description="Also say what to take up next.")]
Priority = Annotated[int, Meta(ge=vocab.URGENT, le=HIGHEST, description="1 comes first.")]


def task_json(task: Task, plan_id: str | None) -> dict[str, Any]:
    """Return a task in the dialect's form (docs: protocol, section 6)."""
    return {
        "id": task.uid,
        "plan_id": plan_id,
        "title": task.name,
        "description": task.description,
        "status": WORDS.word(task.status),
        "priority": task.priority,
        "agent_id": task.agent,
        "intent": task.intent,
        "depends_on": task.depends_on,
        "blocked": task.blocked,
        "node_ids": task.node_ids,
    }


class _PlanIds(dict[int, str | None]):
    """The ids of plans by list id, each looked up once; None for a list that is not a plan."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._db = call.db

    def __missing__(self, list_id: int) -> str | None:
        found = queries.list_by_id(self._db, list_id)
        self[list_id] = plan_id = found.uid if found.kind == "plan" else None
        return plan_id


def _task_json_of(call: Call, uid: str) -> dict[str, Any]:
    task = queries.task(call.db, uid)
    return task_json(task, _PlanIds(call)[task.list_id])


class _NewTask(Arguments):
    title: Name
    id: Annotated[Name, Meta(description="Your own, for depends_on here.")] | None = None
    description: Text = ""
    priority: Priority = vocab.MEDIUM
    agent_id: Annotated[Name, Meta(description="Who is to do it.")] | None = None
    depends_on: Annotated[list[Uid], Meta(description="What comes first: ids of this call or of tasks.")] = []


class _CreatePlan(Arguments):
    title: Name
    tasks: Annotated[list[_NewTask], Meta(description="Its tasks in order.")]
    description: Annotated[Text, Meta(description="What it is for.")] = ""
    agent_id: AgentId | None = None


@TASKS.action("create_plan", _CreatePlan, writes=True)
def create_plan(call: Call, given: _CreatePlan) -> dict[str, Any]:
    """Make a plan, a list of its own whose tasks outlast the session.

    A task waits for those in its `depends_on`. Returns `plan_id` and `tasks`; keep their ids.
    """
    existing = _existing_tasks(call, given.tasks)
    plan: TaskList = call.run(CreatePlan(given.title, given.description, given.agent_id or call.agent, call.project))
    uids = _add_tasks(call, plan, given.tasks, existing)
    tasks = [task_json(queries.task(call.db, uid), plan.uid) for uid in uids]
    return {"plan_id": plan.uid, "title": plan.name, "tasks": tasks}


def _existing_tasks(call: Call, tasks: Sequence[_NewTask]) -> dict[str, str]:
    """Return the uids of existing tasks on which tasks of the call depend, by the caller's reference."""
    words = _callers_ids(tasks)
    found: dict[str, str] = {}
    for at, task in enumerate(tasks):
        for on in task.depends_on:
            if on in words or on in found:
                continue
            with _refusals_at(f"tasks[{at}]"):
                try:
                    found[on] = full_uid(call, PLANS.tools["tasks"], "depends_on", on)
                except NotFound as refusal:
                    message = f"{refusal.message}: it takes the id of a task of this call, or of one that is there"
                    raise InvalidArgument("depends_on", message) from None
    return found


def _add_tasks(call: Call, plan: TaskList, tasks: Sequence[_NewTask], existing: dict[str, str]) -> list[str]:
    """Add tasks in order, then set the dependencies on tasks further back in the call; return their uids.

    `existing` has the uids of existing tasks by the caller's reference.
    """
    made = dict(existing)
    uids: list[str] = []
    early: list[int] = []
    for at, task in enumerate(tasks):
        known = list(dict.fromkeys(made[on] for on in task.depends_on if on in made))
        if any(on not in made for on in task.depends_on):
            early.append(at)
        with _refusals_at(f"tasks[{at}]"):
            uid = call.run(_new_task(task, plan, known)).uid
        uids.append(uid)
        if task.id is not None:
            made[task.id] = uid
    for at in early:
        depends_on = tuple(dict.fromkeys(made[on] for on in tasks[at].depends_on))
        with _refusals_at(f"tasks[{at}]"):
            call.run(EditTask(uids[at], {"depends_on": depends_on}))
    return uids


def _new_task(task: _NewTask, plan: TaskList, depends_on: Sequence[str]) -> AddTask:
    return AddTask(
        task.title,
        plan.uid,
        task.description,
        priority=task.priority,
        agent=task.agent_id,
        depends_on=tuple(depends_on),
        key=task.id,
    )


def _callers_ids(tasks: Sequence[_NewTask]) -> set[str]:
    """Return the caller's ids of the tasks.

    Raises:
        InvalidArgument: an id occurs twice.
    """
    words: set[str] = set()
    for at, task in enumerate(tasks):
        if task.id in words:
            raise InvalidArgument(f"tasks[{at}].id", f"tasks[{at}].id: {task.id[:100]!r} comes twice")
        if task.id is not None:
            words.add(task.id)
    return words


@contextlib.contextmanager
def _refusals_at(path: str) -> Iterator[None]:
    """Prefix the argument that a refusal in the block names with the path."""
    try:
        yield
    except InvalidArgument as refusal:
        inner, rest = refusal.data["argument"], {key: refusal.data[key] for key in refusal.data if key != "argument"}
        message = refusal.message.removeprefix(f"{inner}: ")
        raise InvalidArgument(f"{path}.{inner}", f"{path}.{inner}: {message}", **rest) from None


class _Nothing(Arguments):
    agent_id: AgentId | None = None


@TASKS.action("list_plans", _Nothing)
def list_plans(call: Call, given: _Nothing) -> dict[str, Any]:
    """Read all plans, oldest first, with how many tasks each has."""
    # Without a project: the plans that belong to none.
    found = (plan for plan in queries.each_list(call.db) if plan.project == call.project)
    if call.channel.identity.list_only:
        only = call.only_list
        found = (plan for plan in (only,) if plan is not None)
    return {"plans": page_array(call.db, (plan for plan in found if plan.kind == "plan"), None, _plan_json)}


def _plan_json(plan: TaskList) -> dict[str, Any]:
    counts = dict.fromkeys(WORDS.words.values(), 0)
    for status, word in WORDS.words.items():
        counts[word] += getattr(plan, status)
    return {
        "plan_id": plan.uid,
        "title": plan.name,
        "description": plan.description,
        "agent_id": plan.agent,
        "total": plan.total,
        "counts": counts,
    }


class _Pending(Page):
    plan_id: PlanId | None = None
    agent_id: AgentId | None = None
    suggest_next: Suggest = False


@TASKS.action("pending", _Pending)
def pending(call: Call, given: _Pending) -> dict[str, Any]:
    """Read the open tasks of a plan, or of all lists; with `agent_id` that agent's and nobody's.

    Returns `tasks` and `suggested_next`: the most urgent, then oldest that waits for no other.
    """
    return _pending(call, given, given.agent_id)


def _pending(call: Call, given: _Pending, agent: str | None, *, alone: bool = False) -> dict[str, Any]:
    scope = _scope(call, given.plan_id)
    if scope is None and call.bound_list is not None:
        return {"tasks": [], "suggested_next": None}
    list_id = scope.id if scope else None
    tasks = ready.open_tasks(call.db, list_id, agent, project=call.project, alone=alone, after=given.after)
    suggested = None
    if given.suggest_next:
        suggested = ready.next_task(call.db, list_id, agent, project=call.project, alone=alone)
        if suggested is None:
            call.note = ready.why_none(
                call.db,
                list_id,
                agent,
                project=call.project,
                claimable=False,
                is_confined=call.channel.identity.list_only,
            )
    plan_ids = _PlanIds(call)
    return {
        "tasks": page_array(
            call.db,
            tasks,
            given.limit,
            lambda task: task_json(task, plan_ids[task.list_id]),
            _BRIEF if given.brief else None,
        ),
        "suggested_next": task_json(suggested, plan_ids[suggested.list_id]) if suggested else None,
    }


_BRIEF = ("id", "title", "status")


def _scope(call: Call, plan_id: str | None) -> TaskList | None:
    """Return the named plan, otherwise the list to which the channel is bound, or None."""
    if plan_id is None:
        return queries.find_list(call.db, call.bound_list) if call.bound_list is not None else None
    plan = queries.list_by_uid(call.db, plan_id, "plan")
    if plan.kind != "plan":
        raise NotFound("plan", plan_id)
    return plan


class _Update(Arguments):
    id: TaskId
    status: Literal["pending", "in_progress", "done", "cancelled"] | None = None
    notes: Annotated[Text, Meta(description="For the task's log.")] | None = None
    intent: Annotated[Text, Meta(description="What you are about to do, for others to see.")] | None = None
    agent_id: AgentId | None = None


@TASKS.action("update", _Update, writes=True, subject="id")
def update(call: Call, given: _Update) -> dict[str, Any]:
    """Change a task: one of the others at least; `agent_id` assigns it. Returns it."""
    named = {"status": given.status, "notes": given.notes, "intent": given.intent, "agent_id": given.agent_id}
    one_of("status", named)
    changes = {"intent": given.intent, "agent": given.agent_id}
    if given.status is not None:
        changes["status"] = WORDS.status_of(given.status, queries.task(call.db, given.id).status)
    call.run(EditTask(given.id, {name: value for name, value in changes.items() if value is not None}))
    if given.notes is not None:
        call.run(LogTask(given.id, given.notes))
    return _task_json_of(call, given.id)


class _Notes(Arguments):
    id: TaskId


@TASKS.action("notes", _Notes)
def notes(call: Call, given: _Notes) -> dict[str, Any]:
    """Read what anybody noted on a task."""
    entries = records.each_latest_log(call.db, queries.task(call.db, given.id).uid, MAX_NOTES)
    return {"task_id": given.id, "notes": page_array(call.db, entries, None, _note_json)}


def _note_json(entry: LogEntry) -> dict[str, Any]:
    return {"at": iso(entry.at), "agent_id": entry.agent, "note": entry.message}


class _SaveState(Arguments):
    task_id: TaskId
    agent_id: AgentId | None = None
    approach: Text | None = None
    files_modified: list[Entry] | None = None
    completed_steps: list[Entry] | None = None
    remaining_steps: list[Entry] | None = None
    blockers: list[Entry] | None = None
    decisions: list[Entry] | None = None
    context_snapshot: Annotated[Text, Meta(description="What else is needed to go on.")] | None = None


_STATE_FIELDS = tuple(name for name in _SaveState.__struct_fields__ if name not in ("task_id", "agent_id"))


@TASKS.action("save_state", _SaveState, writes=True, subject="task_id")
def save_state(call: Call, given: _SaveState) -> dict[str, Any]:
    """Save what it takes to resume a task, before your context ends; what you leave out keeps its last value."""
    fields = {name: value for name in _STATE_FIELDS if (value := getattr(given, name)) is not None}
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return _state_json(call.run(SaveState(given.task_id, given.agent_id or call.agent, frozen)))


def _state_json(state: SavedState) -> dict[str, Any]:
    fields = {name: getattr(state, name) for name in _STATE_FIELDS}
    return {"task_id": state.uid, "agent_id": state.agent, **fields, "saved_at": iso(state.saved_at)}


class _GetState(Arguments):
    task_id: TaskId
    agent_id: AgentId | None = None


@TASKS.action("get_state", _GetState)
def get_state(call: Call, given: _GetState) -> dict[str, Any] | None:
    """Read a task's saved state, to resume it; null: none was saved."""
    state = records.saved_state(call.db, queries.task(call.db, given.task_id).uid)
    return _state_json(state) if state else None


class _LinkNodes(Arguments):
    task_id: TaskId
    node_ids: list[Name]
    agent_id: AgentId | None = None


@TASKS.action("link_nodes", _LinkNodes, writes=True, subject="task_id")
def link_nodes(call: Call, given: _LinkNodes) -> dict[str, Any]:
    """Link a task to graph nodes. Returns all its links."""
    task: Task = call.run(LinkNodes(given.task_id, tuple(given.node_ids)))
    return {"task_id": task.uid, "node_ids": task.node_ids}


TASKS.make_tool(
    PLANS,
    "tasks",
    "Plans: tasks, who does them, and the state to resume one from, for work of several agents or sessions. Each "
    "action takes what stands in its parentheses.",
)

PLANS.tool("create_plan", _CreatePlan, writes=True, same_as=("tasks", "create_plan"))(create_plan)
PLANS.tool("get_plans", _Nothing, same_as=("tasks", "list_plans"))(list_plans)
PLANS.tool("get_pending_tasks", _Pending, same_as=("tasks", "pending"))(pending)
PLANS.tool("update_task", _Update, writes=True, subject="id", same_as=("tasks", "update"))(update)
PLANS.tool("save_session_state", _SaveState, writes=True, subject="task_id", same_as=("tasks", "save_state"))(
    save_state
)
PLANS.tool("get_session_state", _GetState, same_as=("tasks", "get_state"))(get_state)
PLANS.tool("link_task_nodes", _LinkNodes, writes=True, subject="task_id", same_as=("tasks", "link_nodes"))(link_nodes)


@PLANS.tool("get_my_tasks", _Pending, same_as=("tasks", "pending"))
def get_my_tasks(call: Call, given: _Pending) -> dict[str, Any]:
    """Read the open tasks that are yours alone (or `agent_id`'s)."""
    return _pending(call, given, given.agent_id or call.agent, alone=True)
