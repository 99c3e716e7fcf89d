"""Tasks of plans: what they are as JSON, and making plans of them (seed 004)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.errors import InvalidArgument, NotFound, Problem
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.dialects.requests import StatusWords
from tui_tasks.dialects.requests.arguments import Arguments, Name, TaskUid, Text, Uid
from tui_tasks.dialects.requests.task_references import full_uid, may_be_task
from tui_tasks.dialects.tool_table import Call, Table

PLANS = Table()
HIGHEST = 1_000_000_000

WORDS = StatusWords(
    {
        "pending": "pending",
        "in_progress": "in_progress",
        "done": "done",
        "failed": "cancelled",
        "skipped": "cancelled",
        "cancelled": "cancelled",
    }
)

AgentId = Annotated[Name, Meta(description="An agent's name; default: yours, or any.")]
TaskId = TaskUid
# Any JSON value that an agent stores; the schema asks for text.
Entry = Annotated[Any, Meta(extra_json_schema={"type": "string"})]
PlanId = Annotated[Uid, Meta(description="Only of this plan.")]
Suggest = Annotated[bool, Meta(description="Also suggest the next task.")]
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


class PlanIds(dict[int, str | None]):
    """The ids of plans by list id, each looked up once; None for a list that is not a plan."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._db = call.db

    def __missing__(self, list_id: int) -> str | None:
        home = task_queries.list_by_id(self._db, list_id)
        self[list_id] = plan_id = home.uid if home.kind == "plan" else None
        return plan_id


def scope(call: Call, plan_id: str | None) -> TaskList | None:
    """Return the named plan, otherwise the list to which the channel is bound, or None."""
    if plan_id is None:
        return task_queries.find_list(call.db, call.bound_list) if call.bound_list is not None else None
    plan = task_queries.list_by_uid(call.db, plan_id, "plan")
    if plan.kind != "plan":
        raise NotFound("plan", plan_id)
    return plan


class _NewTask(Arguments):
    title: Name
    id: Annotated[Name, Meta(description="Your own, for depends_on here.")] | None = None
    description: Text = ""
    priority: Priority = vocab.MEDIUM
    agent_id: Annotated[Name, Meta(description="Who does it.")] | None = None
    depends_on: Annotated[list[Uid], Meta(description="What comes first: ids of this call or of tasks.")] = []


class NewPlan(Arguments):
    """The arguments of `create_plan`."""

    title: Name
    tasks: Annotated[list[_NewTask], Meta(description="Its tasks in order.")]
    description: Annotated[Text, Meta(description="Its purpose.")] = ""
    agent_id: AgentId | None = None

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterator[Problem]:
        """Yield the ids that come twice, the dependencies on no task, and those that lead back to their own task."""
        tasks = given.get("tasks")
        return _problems_of_tasks(tasks) if isinstance(tasks, list) else iter(())

    @classmethod
    def hint(cls, path: str, value: Any) -> str:
        """Return how a task of the call is named in `depends_on`, for a number there."""
        return _NO_PLACE if ".depends_on" in path and isinstance(value, int) else ""


def _problems_of_tasks(tasks: list[Any], *, is_new: bool = True) -> Iterator[Problem]:
    ids = [task.get("id") if isinstance(task, dict) else None for task in tasks]
    known = {id_ for id_ in ids if isinstance(id_, str)}
    after: dict[str, list[str]] = {}
    for at, (task, id_) in enumerate(zip(tasks, ids, strict=True)):
        if not isinstance(task, dict):
            continue
        if isinstance(id_, str) and id_ in ids[:at]:
            yield f"tasks[{at}].id", f"tasks[{at}].id: {id_[:100]!r} comes twice"
        depends_on = task.get("depends_on")
        named = [on for on in depends_on if isinstance(on, str)] if isinstance(depends_on, list) else []
        for on in named:
            if is_new and on not in known and not may_be_task(on):
                yield f"tasks[{at}].depends_on", f"tasks[{at}].depends_on: {_no_task(on)}"
        if isinstance(id_, str):
            after.setdefault(id_, []).extend(on for on in named if on in known)
    for at, id_ in enumerate(ids):
        if isinstance(id_, str) and _leads_to(id_, after):
            yield f"tasks[{at}].depends_on", f"tasks[{at}].depends_on: the task would wait for itself"


def _no_task(reference: str) -> str:
    message = f"no task {reference[:100]}: use the id of a task of this call, or of an existing one"
    return f"{message}; {_NO_PLACE}" if reference.lstrip("#").isdecimal() else message


_NO_PLACE: Final = (
    'a place in the array is not an id, and the numbers of tasks start at "#1". Give the task that comes first '
    'an id, as {"id": "first", "title": ...}, and send "depends_on": ["first"]'
)


def _leads_to(goal: str, after: dict[str, list[str]]) -> bool:
    """Return whether following dependencies from a task leads back to it."""
    seen: set[str] = set()
    ahead = list(after.get(goal, ()))
    while ahead:
        on = ahead.pop()
        if on == goal:
            return True
        if on not in seen:
            seen.add(on)
            ahead += after.get(on, ())
    return False


def create_plan(call: Call, given: NewPlan) -> dict[str, Any]:
    """Make a plan, its own list, whose tasks outlast the session. A task waits for those in its `depends_on`. Returns

    `plan_id` and `tasks`; keep their ids.
    """
    existing = _existing_tasks(call, given.tasks)
    plan: TaskList = call.run(CreatePlan(given.title, given.description, given.agent_id or call.agent, call.project))
    return _added_json(call, plan, given.tasks, existing)


class MoreTasks(Arguments):
    """The arguments of `add_tasks`."""

    plan_id: Annotated[Uid, Meta(description="The plan.")]
    tasks: Annotated[list[_NewTask], Meta(description="In order.")]

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterator[Problem]:
        """Yield what `create_plan` refuses, except for dependencies on ids that the plan has."""
        tasks = given.get("tasks")
        return _problems_of_tasks(tasks, is_new=False) if isinstance(tasks, list) else iter(())


def add_tasks(call: Call, given: MoreTasks) -> dict[str, Any]:
    """Add tasks to the end of a plan. Returns them as create_plan does."""
    plan = scope(call, given.plan_id)
    assert plan is not None
    return _added_json(call, plan, given.tasks, _existing_tasks(call, given.tasks, plan))


def _added_json(call: Call, plan: TaskList, new: Sequence[_NewTask], existing: dict[str, str]) -> dict[str, Any]:
    uids = _add_tasks(call, plan, new, existing)
    return {
        "plan_id": plan.uid,
        "title": plan.name,
        "tasks": [task_json(task_queries.task(call.db, uid), plan.uid) for uid in uids],
    }


def _existing_tasks(call: Call, tasks: Sequence[_NewTask], plan: TaskList | None = None) -> dict[str, str]:
    """Return the uids of existing tasks on which tasks of the call depend, by the caller's reference.

    With a plan, the caller's ids of its tasks are references, too.

    Raises:
        InvalidArgument: references name no task, or one names several.
    """
    words = {task.id for task in tasks}
    uids: dict[str, str] = {}
    wrong: list[Problem] = []
    for at, task in enumerate(tasks):
        path = f"tasks[{at}].depends_on"
        for on in task.depends_on:
            if on in words or on in uids:
                continue
            known = task_queries.task_by_key(call.db, plan.id, on) if plan is not None else None
            try:
                uids[on] = known.uid if known is not None else full_uid(call, PLANS.tools["tasks"], path, on)
                if task_queries.status(call.db, uids[on]) is None:
                    raise NotFound("task", on)
            except NotFound:
                wrong.append((path, f"{path}: {_no_task(on)}"))
    if wrong:
        raise InvalidArgument.of(wrong)
    return uids


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


@contextlib.contextmanager
def _refusals_at(path: str) -> Iterator[None]:
    """Prefix the argument that a refusal in the block names with the path."""
    try:
        yield
    except InvalidArgument as refusal:
        inner, rest = refusal.data["argument"], {key: refusal.data[key] for key in refusal.data if key != "argument"}
        message = refusal.message.removeprefix(f"{inner}: ")
        raise InvalidArgument(f"{path}.{inner}", f"{path}.{inner}: {message}", **rest) from None
