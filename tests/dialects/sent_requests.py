"""Requests of every dialect as Hypothesis strategies; what they name is picked from the state when they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.dialects.model_state import State

AGENTS = ("ada", "bob", "cyd")
LISTS = ("tasklist", "task", "todo", "shared")


@dataclass(frozen=True)
class Pick:
    """Something of the state: a task, a plan, a claim, a memory, or an id of `todo` (`own`)."""

    kind: str
    number: int


@dataclass(frozen=True)
class Speaker:
    """Who sends a line, on which list, how long after the last one; and whether the envelope or the channel says it."""

    agent: str
    bound: Any = None
    after: int = 1
    envelope: bool = True
    why: bool = False


def pick(kind: str, most: int = 11) -> st.SearchStrategy[Pick]:
    return st.builds(Pick, st.just(kind), st.integers(0, most))


def sent(tool: str | list[str], optional: dict[str, Any] | None = None, /, **needed: Any) -> st.SearchStrategy[Any]:
    """Requests of a tool, or of one of several that take the same, as (tool, arguments)."""
    fixed = {name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in needed.items()}
    names = st.sampled_from([tool] if isinstance(tool, str) else tool)
    left = {name: value for name, value in (optional or {}).items() if name not in fixed}
    return st.tuples(names, st.fixed_dictionaries(fixed, optional=left))


def sent_as(action: str, absorbed: str, optional: dict[str, Any] | None = None, /, **needed: Any) -> Any:
    """Requests of an action of `tasks`, or of the name that it absorbed."""
    return sent("tasks", optional, action=action, **needed) | sent(absorbed, optional, **needed)


WORDS = st.sampled_from(["plan", "Build", "test it", "é\U0001f600 [b]", "\x1b[31mred\0"])
TASK, PLAN, CLAIM, MEMORY = pick("task"), pick("plan", 3), pick("claim", 5), pick("memory", 3)
AGENT = st.sampled_from(AGENTS)
SPEAKERS = st.builds(
    Speaker,
    AGENT,
    st.sampled_from([None, None, None, "tasklist", "todo", "task", "shared", "shared"]) | PLAN,
    st.sampled_from([0, 1, 1, 1, 1, 25, 70]),
    st.booleans(),
    st.booleans(),
)

# tasklist

TASKLIST_STATUS = st.sampled_from(["pending", "in_progress", "done", "failed", "skipped"])
SETTERS = [f"tasklist:set_task_{status}" for status in ("pending", "in_progress", "done", "failed", "skipped")]
UPDATE = {"name": WORDS, "description": WORDS | st.just(""), "status": TASKLIST_STATUS}
TASKLIST = st.one_of(
    sent("tasklist:add_task", {"description": WORDS}, name=WORDS),
    sent(["tasklist:add_task_before", "tasklist:add_task_after"], {"description": WORDS}, uid=TASK, name=WORDS),
    sent("tasklist:update_task", UPDATE, uid=TASK),
    sent(SETTERS, uid=TASK),
    sent("tasklist:delete_task", uid=TASK),
    sent("tasklist:swap_tasks", uid1=TASK, uid2=TASK),
    sent("tasklist:log_task_progress", uid=TASK, message=WORDS),
    sent(["tasklist:get_task_logs", "tasklist:get_task"], uid=TASK),
    sent("tasklist:get_tasks", status=st.lists(TASKLIST_STATUS, min_size=1, max_size=3)),
)
CLEAR = sent("tasklist:clear")

# task, agent, memory

BOARD_STATUS = st.sampled_from(["open", "in_progress", "completed", "cancelled"])
PRIORITY = st.sampled_from(["low", "medium", "high", "urgent"])
TAGS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True)
DOMAIN = st.sampled_from(["infra", "web"])
METADATA = st.sampled_from([{}, {"k": 1}])
RESULT = st.sampled_from([{"summary": "Done"}, {"summary": "done again", "n": [1, None]}])
CREATE = {"description": WORDS, "status": BOARD_STATUS, "priority": PRIORITY, "tags": TAGS, "domain": DOMAIN}
CHANGE = {"title": WORDS, "result": RESULT, "metadata": METADATA, **CREATE}
FILTER = {"status": BOARD_STATUS, "priority": PRIORITY, "tags": TAGS, "domain": DOMAIN}
FILTER |= {"query": st.sampled_from(["plan", "É"]), "limit": st.integers(1, 3)}
BOARD = st.one_of(
    sent("task", {**CREATE, "metadata": METADATA}, action="create", title=WORDS),
    sent("agent", CREATE, action="create_task", title=WORDS),
    sent("task", CHANGE, action="update", task_id=TASK),
    sent("task", CHANGE, action="update", task_id=TASK, status="completed", result=RESULT),
    sent("agent", CHANGE, action="update_task", task_id=TASK),
    sent("task", FILTER, action="list") | sent("agent", FILTER, action="list_tasks"),
    sent("memory", {"limit": st.integers(1, 2)}, action="search", query=st.sampled_from(["DONE", "plan"])),
    sent("memory", action="get", memory_id=MEMORY),
)

# todo

TODO_STATUS = st.sampled_from(["pending", "in_progress", "completed", "cancelled"])
OWN_ID = pick("own", 6)
WHOLE = st.fixed_dictionaries({"id": OWN_ID, "content": WORDS, "status": TODO_STATUS})
PART = st.fixed_dictionaries({"id": OWN_ID}, optional={"content": WORDS, "status": TODO_STATUS})
TODO = st.one_of(
    sent("todo", merge=False, todos=st.lists(WHOLE, min_size=2, max_size=4, unique_by=lambda item: item["id"])),
    sent("todo", merge=True, todos=st.lists(PART | WHOLE, min_size=1, max_size=3)),
)

# tasks, and the names that it absorbed

PLANS_STATUS = st.sampled_from(["pending", "in_progress", "done", "cancelled"])
WORD = st.sampled_from(["x", "y"])
NEW_TASK = st.fixed_dictionaries(
    {"title": WORDS},
    optional={
        "id": WORD,
        "description": WORDS,
        "priority": st.sampled_from([1, 3, 4, 99]),
        "agent_id": AGENT,
        "depends_on": st.lists(WORD | TASK, max_size=2),
    },
)
NEW_TASKS = st.lists(NEW_TASK, max_size=3)
TEXTS = st.lists(WORDS, max_size=2)
SAVED = dict.fromkeys(("files_modified", "completed_steps", "remaining_steps", "blockers", "decisions"), TEXTS)
SAVED |= {"approach": WORDS, "context_snapshot": WORDS, "agent_id": AGENT}
CHANGE_OF_PLAN = {"status": PLANS_STATUS, "notes": WORDS, "intent": WORDS, "agent_id": AGENT}
NODES = st.lists(st.sampled_from(["n1", "n2"]), max_size=2)
PENDING = {"suggest_next": st.booleans(), "agent_id": AGENT, "plan_id": PLAN}
PLANS = st.one_of(
    sent_as("create_plan", "create_plan", {"description": WORDS, "agent_id": AGENT}, title=WORDS, tasks=NEW_TASKS),
    sent_as("update", "update_task", CHANGE_OF_PLAN, id=TASK),
    sent_as("save_state", "save_session_state", SAVED, task_id=TASK),
    sent_as("link_nodes", "link_task_nodes", task_id=TASK, node_ids=NODES),
    sent_as("pending", "get_pending_tasks", PENDING),
    sent_as("get_state", "get_session_state", task_id=TASK),
)

# control

LEASE = {"lease_seconds": st.sampled_from([30, 60])}
CLAIMS = st.one_of(
    sent("control:claim", LEASE),
    sent("control:claim", {**LEASE, "list": st.sampled_from(LISTS) | PLAN}),
    sent("control:claim", LEASE, uid=TASK),
    sent(["control:heartbeat", "control:release"], claim=CLAIM),
)
UPDATES = sent(
    "control:update_task",
    {
        "name": WORDS,
        "description": WORDS | st.just("") | st.none(),
        "status": st.sampled_from(["pending", "in_progress", "done", "failed", "skipped", "cancelled"]),
        "priority": st.sampled_from([1, 4, 99, None]),
        "tags": st.lists(st.sampled_from("ab"), max_size=2, unique=True) | st.none(),
        "domain": st.sampled_from(["infra", None]),
        "agent": AGENT | st.none(),
        "result": st.just({"n": 1}) | st.none(),
        "due": st.sampled_from(["2026-01-31", "2026-02-01T09:00:00.000+00:00", "", None]),
        "estimate": st.integers(0, 90) | st.none(),
    },
    uid=TASK,
)
LINKS = sent(
    "control:link",
    {"remove": st.booleans()},
    uid=TASK,
    kind=st.sampled_from(["branch", "file"]),
    target=st.sampled_from(["phone", "src/a.py"]),
)
# What whoever has or had a claim does with its task.
AS_HOLDER = st.one_of(
    sent(["control:heartbeat", "control:release"], claim="its"),
    sent("tasklist:log_task_progress", uid="its", message=WORDS),
    sent(["tasklist:set_task_done", "tasklist:set_task_pending", "tasklist:delete_task"], uid="its"),
    sent("task", {"priority": PRIORITY}, action="update", task_id="its", description=WORDS),
    sent("update_task", id="its", status=PLANS_STATUS),
    sent("control:undo"),
)
EVERYTHING = TASKLIST | BOARD | TODO | PLANS | CLAIMS | UPDATES | LINKS

# What changes exactly one named task: tools, and actions of `task`, `agent` and `tasks`.
CHANGES_ONE = {
    *SETTERS,
    *("tasklist:update_task", "tasklist:delete_task", "tasklist:log_task_progress"),
    *("control:update_task", "control:link"),
    *("update", "update_task", "save_state", "save_session_state", "link_nodes", "link_task_nodes"),
}


def resolved(state: State, value: Any, home: str) -> Any:
    """A value with what its picks stand for; `home` is the list that ids of `todo` are looked for in."""
    if isinstance(value, dict):
        return {name: resolved(state, item, home) for name, item in value.items()}
    if isinstance(value, list):
        return [resolved(state, item, home) for item in value]
    return chosen(state, value, home)


def chosen(state: State, value: Any, home: str = "") -> Any:
    """What a pick stands for; now and then something that never was."""
    if not isinstance(value, Pick):
        return value
    number = value.number
    if value.kind == "own":
        found = state.find(home)
        there = found.order if found else []
        return str(number) if number < 4 or not there else there[number % len(there)]
    things = {
        "task": _tasks(state, number),
        "plan": [plan.handle for plan in state.living() if plan.is_plan],
        "claim": list(state.claims),
        "memory": [memory.uid for memory in state.memories.values()],
    }[value.kind]
    return things[-1 - number % len(things)] if things and number != 11 else f"no-such-{value.kind}"


def _tasks(state: State, number: int) -> list[str]:
    """Tasks that are there, and often those that are closed, claimed, fenced, waited for, or gone."""
    there = state.everything()
    special = {
        6: [task.uid for task in there if task.status not in ("pending", "in_progress")],
        7: [claim.task for claim in state.claims.values()],
        8: [uid for uid, agents in state.fenced.items() if agents],
        9: [on for task in there for on in task.depends_on],
        10: list(state.tasks),
    }
    return special.get(number) or [task.uid for task in there]
