"""`tasks` with the names it absorbed, claims and undo, as the model serves them (docs: protocol, sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.dialects.model import Call
from tests.dialects.model_shapes import AS_IS, MEANT, SECOND, SHOWN, as_tasks, full, iso, meant
from tests.dialects.model_state import Claim, Home, Refused

# tasks, and the names it absorbed


def create_plan(
    call: Call, title: str, tasks: list[dict[str, Any]], description: str = "", agent_id: str | None = None
) -> Any:
    ids = [task["id"] for task in tasks if "id" in task]
    plan = call.model.make_home(None, is_plan=True, title=title, description=description, agent=agent_id or call.agent)
    made = []
    for task in tasks:
        fields = {"agent" if name == "agent_id" else name: value for name, value in task.items()}
        fields["key"] = fields.pop("id", None)
        made.append(call.model.make_task(plan, fields.pop("title"), **{**fields, "depends_on": []}))
    own = {task.key: task.uid for task in made if task.key is not None}
    for task, given in zip(made, tasks, strict=True):
        task.depends_on = list(dict.fromkeys(own.get(on, on) for on in given.get("depends_on", [])))
        living = {other.uid for other in call.state.tasks.values() if not other.deleted}
        if not living.issuperset(task.depends_on) or len(set(ids)) < len(ids) or _leads_back(call, task.uid):
            raise Refused("invalid_argument")
    return {"plan_id": plan.handle, "title": title, "tasks": [as_tasks(call.model, task) for task in made]}


def _leads_back(call: Call, uid: str) -> bool:
    seen: set[str] = set()
    ahead = list(call.state.tasks[uid].depends_on)
    while ahead:
        if (on := ahead.pop()) not in seen and on in call.state.tasks:
            seen.add(on)
            ahead += call.state.tasks[on].depends_on
    return uid in seen


def list_plans(call: Call) -> Any:
    plans = [home for home in call.state.living() if home.is_plan]
    return {"plans": [_as_plan(call, plan) for plan in plans]}


def _as_plan(call: Call, plan: Home) -> dict[str, Any]:
    words = [SHOWN["tasks"][task.status] for task in call.state.in_order(plan)]
    counts = {word: words.count(word) for word in MEANT["tasks"]}
    same = {"title": plan.title, "description": plan.description, "agent_id": plan.agent}
    return {"plan_id": plan.handle, **same, "total": len(words), "counts": counts}


def pending(
    call: Call, plan_id: str | None = None, agent_id: str | None = None, suggest_next: bool = False, alone: bool = False
) -> Any:
    home = call.state.find(plan_id or call.bound or "")
    if plan_id and not (home and home.is_plan):
        raise Refused("not_found", id=plan_id)
    found = (call.state.in_order(home) if home else []) if plan_id or call.bound else call.state.everything()
    whose = {agent_id} if alone else {agent_id, None}
    found = [task for task in found if task.status in AS_IS and (agent_id is None or task.agent in whose)]
    suggested = call.state.ready(found) if suggest_next else None
    return {
        "tasks": [as_tasks(call.model, task) for task in found],
        "suggested_next": as_tasks(call.model, suggested) if suggested else None,
    }


def get_my_tasks(call: Call, plan_id: str | None = None, suggest_next: bool = False) -> Any:
    return pending(call, plan_id, call.agent, suggest_next, alone=True)


def update(call: Call, id: str, **given: str) -> Any:
    if not given:
        raise Refused("invalid_argument", *(() if id in call.state.tasks else ("not_found",)))
    changes = {{"agent_id": "agent"}.get(name, name): value for name, value in given.items() if name != "notes"}
    if "status" in changes:
        changes["status"] = meant("tasks", changes["status"], call.model.task(id).status)
    call.model.edit(id, **changes)
    if "notes" in given:
        call.model.log(id, given["notes"])
    return as_tasks(call.model, call.model.task(id))


def save_state(call: Call, task_id: str, agent_id: str | None = None, **fields: Any) -> Any:
    return _as_saved(task_id, call.model.save(task_id, agent_id or call.agent, fields))


def get_state(call: Call, task_id: str) -> Any:
    saved = call.model.task(task_id).saved
    return saved and _as_saved(task_id, saved)


def _as_saved(uid: str, saved: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in saved.items() if name != "at"}
    return {"task_id": uid, **fields, "saved_at": iso(saved["at"])}


def link_nodes(call: Call, task_id: str, node_ids: list[str]) -> Any:
    found = call.model.writable(task_id)
    call.model.set(found, node_ids=list(dict.fromkeys([*found.node_ids, *node_ids])))
    return {"task_id": task_id, "node_ids": found.node_ids}


ACTIONS: dict[str, Callable[..., Any]] = {
    "create_plan": create_plan,
    "list_plans": list_plans,
    "pending": pending,
    "update": update,
    "save_state": save_state,
    "get_state": get_state,
    "link_nodes": link_nodes,
}


def tasks(call: Call, action: str, **given: Any) -> Any:
    return ACTIONS[action](call, **given)


# control


def claim(call: Call, list: str | None = None, lease_seconds: int = 300, uid: str | None = None) -> Any:
    if uid is not None:
        made = call.model.claim_one(uid, lease_seconds * SECOND)
        return {"task": full(call.model, call.model.task(uid)), **_held(made)}
    home = call.state.find(list or call.bound or "")
    if list and home is None:
        raise Refused("not_found", id=list)
    homes = ([home] if home else []) if list or call.bound else call.state.living()
    made = call.model.claim(homes, lease_seconds * SECOND)
    return made and {"task": full(call.model, call.model.task(made.task)), **_held(made)}


def _held(claim: Claim) -> dict[str, Any]:
    return {"claim": claim.uid, "expires_at": iso(claim.expires_at)}


def heartbeat(call: Call, claim: str) -> Any:
    found = call.model.standing(claim)
    found.expires_at = call.model.now + found.lease
    return _held(found)


def release(call: Call, claim: str) -> Any:
    return full(call.model, call.model.give_back(call.model.standing(claim)))


# What null sets a field to.
CLEARED = {
    "description": "",
    "priority": 3,
    "tags": [],
    **dict.fromkeys(("domain", "agent", "result", "due", "estimate")),
}


def update_task(call: Call, uid: str, **given: Any) -> Any:
    """An empty date and no minutes take away what there is, and so does null of any field."""
    changes = {name: CLEARED[name] if value is None else value for name, value in given.items()}
    changes |= {name: changes[name] or None for name in ("due", "estimate") if name in changes}
    if not changes:
        raise Refused("invalid_argument", *(() if uid in call.state.tasks else ("not_found",)))
    return full(call.model, call.model.edit(uid, **changes))


def link(call: Call, uid: str, kind: str, target: str, remove: bool = False) -> Any:
    """A link is there once, behind those that were there; the order stays."""
    found, wanted = call.model.task(uid), {"kind": kind, "target": target}
    others = [each for each in found.links if each != wanted]
    added = found.links if wanted in found.links else [*found.links, wanted]
    return full(call.model, call.model.edit(uid, links=others if remove else added))


def undo(call: Call) -> Any:
    return {"undone": call.model.undo(call.model.newest(), was_refused=not call.seen.ok)}


PLAN_TOOLS: dict[str, Callable[..., Any]] = {
    "tasks": tasks,
    "create_plan": create_plan,
    "get_plans": list_plans,
    "get_pending_tasks": pending,
    "get_my_tasks": get_my_tasks,
    "update_task": update,
    "save_session_state": save_state,
    "get_session_state": get_state,
    "link_task_nodes": link_nodes,
    "control:claim": claim,
    "control:heartbeat": heartbeat,
    "control:release": release,
    "control:task": lambda call, uid: full(call.model, call.model.task(uid)),
    "control:undo": undo,
    "control:update_task": update_task,
    "control:link": link,
}
