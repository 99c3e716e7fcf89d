"""`tasks` and the eight tools that it replaces (seed 004): plans, who does what, and saved states to resume tasks."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from tui_tasks.core.operations.tasks import EditTask, LinkNodes, LogTask, SaveState
from tui_tasks.core.read.tasks import ready_tasks, task_queries, task_records
from tui_tasks.core.snapshots import LogEntry, SavedState, Task, TaskList, iso
from tui_tasks.dialects.long_replies import Page, page_array
from tui_tasks.dialects.plan_tasks import (
    PLANS,
    WORDS,
    AgentId,
    Entry,
    MoreTasks,
    NewPlan,
    PlanId,
    PlanIds,
    Suggest,
    TaskId,
    add_tasks,
    create_plan,
    scope,
    task_json,
)
from tui_tasks.dialects.requests.arguments import Arguments, Name, Natural, Text, Uid
from tui_tasks.dialects.requests.tool_actions import Actions
from tui_tasks.dialects.tool_table import TEXT, Call, list_of, object_of, or_null, require_one_of

TASKS = Actions(
    {
        **dict.fromkeys(
            ("delete", "remove", "delete_task"),
            'tasklist:delete_task with {"uid": ...} deletes a task; '
            'control:delete_plan with {"plan_id": ...} deletes a plan',
        ),
        "delete_plan": 'send {"tool": "control:delete_plan", "arguments": {"plan_id": ...}}',
        **dict.fromkeys(
            ("get", "show", "read", "get_task"),
            'the action pending reads the open tasks; control:task with {"uid": ...} reads one task',
        ),
        **dict.fromkeys(
            ("complete", "done", "finish", "close"), 'send {"action": "update", "id": ..., "status": "done"}'
        ),
        **dict.fromkeys(("claim", "take", "start"), 'send {"tool": "control:claim", "arguments": {"uid": ...}}'),
    }
)
MAX_NOTES = 100


TASKS.action("create_plan", NewPlan, writes=True)(create_plan)
TASKS.action("add_tasks", MoreTasks, writes=True)(add_tasks)


_PLANNED: Final = object_of("id title status", id=TEXT, title=TEXT, status=TEXT)
_PENDING: Final = object_of("tasks suggested_next", tasks=list_of(_PLANNED))
_STATE: Final = object_of("task_id agent_id saved_at")


class _Nothing(Arguments):
    agent_id: AgentId | None = None


class _Plans(_Nothing):
    limit: Natural | None = None
    after: Annotated[Uid, Meta(description="The last one read.")] | None = None


@TASKS.action("list_plans", _Plans)
def list_plans(call: Call, given: _Plans) -> dict[str, Any]:
    """Read plans, oldest first, with their numbers of tasks."""
    # Without a project: the plans that belong to none.
    plans = task_queries.each_plan(call.db, call.project, given.after)
    if call.channel.identity.list_only:
        only = call.only_list
        plans = (plan for plan in (only,) if plan is not None and plan.kind == "plan" and plan.uid != given.after)
    return {"plans": page_array(call.db, plans, given.limit, _plan_json)}


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
    """Read the open tasks of a plan, or of all lists; with `agent_id` only that agent's and unassigned ones. Returns

    `tasks` and `suggested_next`: the most urgent, then oldest without open dependencies.
    """
    return _pending(call, given, given.agent_id)


def _pending(call: Call, given: _Pending, agent: str | None, *, alone: bool = False) -> dict[str, Any]:
    home = scope(call, given.plan_id)
    if home is None and call.bound_list is not None:
        return {"tasks": [], "suggested_next": None}
    list_id = home.id if home else None
    tasks = ready_tasks.open_tasks(call.db, list_id, agent, project=call.project, alone=alone, after=given.after)
    suggested = None
    if given.suggest_next:
        suggested = ready_tasks.next_task(call.db, list_id, agent, project=call.project, alone=alone)
        if suggested is None:
            call.note = ready_tasks.why_none(
                call.db,
                list_id,
                agent,
                project=call.project,
                claimable=False,
                is_confined=call.channel.identity.list_only,
            )
    plan_ids = PlanIds(call)
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


class _Update(Arguments):
    id: TaskId
    status: Literal["pending", "in_progress", "done", "cancelled"] | None = None
    notes: Annotated[Text, Meta(description="For the task's log.")] | None = None
    intent: Annotated[Text, Meta(description="Your next step, for others to see.")] | None = None
    agent_id: AgentId | None = None


@TASKS.action("update", _Update, writes=True, subject="id")
def update(call: Call, given: _Update) -> dict[str, Any]:
    """Change a task: at least one other field; `agent_id` assigns it. Returns it."""
    named = {"status": given.status, "notes": given.notes, "intent": given.intent, "agent_id": given.agent_id}
    require_one_of("status", named)
    changes = {"intent": given.intent, "agent": given.agent_id}
    if given.status is not None:
        changes["status"] = WORDS.status_of(given.status, task_queries.task(call.db, given.id).status)
    call.run(EditTask(given.id, {name: value for name, value in changes.items() if value is not None}))
    if given.notes is not None:
        call.run(LogTask(given.id, given.notes))
    task = task_queries.task(call.db, given.id)
    return task_json(task, PlanIds(call)[task.list_id])


class _Notes(Arguments):
    id: TaskId


@TASKS.action("notes", _Notes)
def notes(call: Call, given: _Notes) -> dict[str, Any]:
    """Read all notes on a task."""
    entries = task_records.each_latest_log(call.db, task_queries.task(call.db, given.id).uid, MAX_NOTES)
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
    context_snapshot: Annotated[Text, Meta(description="Anything else needed to resume.")] | None = None


_STATE_FIELDS = tuple(name for name in _SaveState.__struct_fields__ if name not in ("task_id", "agent_id"))


@TASKS.action("save_state", _SaveState, writes=True, subject="task_id")
def save_state(call: Call, given: _SaveState) -> dict[str, Any]:
    """Save the state to resume a task from, before your context ends; omitted fields keep their value."""
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
    """Read a task's saved state, or null."""
    state = task_records.saved_state(call.db, task_queries.task(call.db, given.task_id).uid)
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
    "Plans: tasks with agents and saved states, across sessions. Each action takes the arguments in parentheses.",
)

PLANS.tool(
    "create_plan",
    NewPlan,
    writes=True,
    same_as=("tasks", "create_plan"),
    output=object_of("plan_id title tasks", plan_id=TEXT, tasks=list_of(_PLANNED)),
)(create_plan)
PLANS.tool("get_plans", _Plans, same_as=("tasks", "list_plans"), output=object_of("plans"))(list_plans)
PLANS.tool("get_pending_tasks", _Pending, same_as=("tasks", "pending"), output=_PENDING)(pending)
PLANS.tool(
    "update_task", _Update, writes=True, subject="id", same_as=("tasks", "update"), idempotent=True, output=_PLANNED
)(update)
PLANS.tool(
    "save_session_state",
    _SaveState,
    writes=True,
    subject="task_id",
    same_as=("tasks", "save_state"),
    idempotent=True,
    output=_STATE,
)(save_state)
PLANS.tool("get_session_state", _GetState, same_as=("tasks", "get_state"), output=or_null(_STATE))(get_state)
PLANS.tool(
    "link_task_nodes",
    _LinkNodes,
    writes=True,
    subject="task_id",
    same_as=("tasks", "link_nodes"),
    idempotent=True,
    output=object_of("task_id node_ids"),
)(link_nodes)


@PLANS.tool("get_my_tasks", _Pending, same_as=("tasks", "pending"), output=_PENDING)
def get_my_tasks(call: Call, given: _Pending) -> dict[str, Any]:
    """Read the open tasks that are yours alone (or `agent_id`'s)."""
    return _pending(call, given, given.agent_id or call.agent, alone=True)
