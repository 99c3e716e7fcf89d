"""MCP resources, which a client may read without a tool: lists, tasks, and the inbox."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from typing import Any, Final
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from tui_tasks.channel.session import Session
from tui_tasks.core.errors import NotFound, Refusal
from tui_tasks.core.read import asks, messages
from tui_tasks.core.read.tasks import queries, task_summary
from tui_tasks.core.snapshots import Entry, TaskList, full_task, iso

_ROOT: Final = "tui-tasks://"
INBOX: Final = f"{_ROOT}inbox"
_LIST, _TASK = f"{_ROOT}list/", f"{_ROOT}task/"
_JSON: Final = "application/json"
# A longer list is cut; tools read it in pages.
_MAX_TASKS: Final = 200


def _list_uri(handle: str) -> str:
    return _LIST + quote(handle, safe="")


def all_resources(session: Session) -> list[types.Resource]:
    """Return the inbox, and each list that the agent may reach."""
    found = [
        types.Resource(
            uri=_list_uri(home.handle),
            name=home.handle,
            title=home.name,
            mime_type=_JSON,
            description="A list of tasks.",
        )
        for home in _lists(session)
    ]
    about = "Your open questions to the human, and the human's messages that wait for you."
    return [types.Resource(uri=INBOX, name="inbox", title="Inbox", mime_type=_JSON, description=about), *found]


def all_templates() -> list[types.ResourceTemplate]:
    """Return the URI templates of lists and tasks."""
    return [
        types.ResourceTemplate(
            uri_template=f"{_LIST}{{name}}", name="list", title="A list of tasks, a plan by its id", mime_type=_JSON
        ),
        types.ResourceTemplate(
            uri_template=f"{_TASK}{{uid}}", name="task", title="A task with every field", mime_type=_JSON
        ),
    ]


def _lists(session: Session) -> list[TaskList]:
    only = session.identity.list if session.identity.list_only else None
    found = [home for home in queries.lists(session.store.db) if not home.archived]
    return [home for home in found if only is None or home.handle == only]


def read(session: Session, uri: str) -> types.ReadResourceResult:
    """Return the resource at a URI.

    Raises:
        MCPError: there is none.
    """
    try:
        with session.store.reading():
            found = _read(session, uri)
    except Refusal as refused:
        raise MCPError(code=types.INVALID_PARAMS, message=refused.message, data={"uri": uri}) from None
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)])


def _read(session: Session, uri: str) -> dict[str, Any]:
    if uri == INBOX:
        return _inbox(session)
    if uri.startswith(_LIST):
        handle = unquote(uri.removeprefix(_LIST))
        home = next((home for home in _lists(session) if home.handle == handle), None)
        if home is None:
            raise NotFound("list", handle)
        return _list(session, home)
    uid = uri.removeprefix(_TASK)
    task = queries.any_task(session.store.db, uid) if uri.startswith(_TASK) else None
    home = queries.list_by_id(session.store.db, task.list_id) if task is not None else None
    if task is None or home is None or (session.identity.list_only and home.handle != session.identity.list):
        raise NotFound("resource", uri)
    return full_task(task, home.handle)


def _list(session: Session, home: TaskList) -> dict[str, Any]:
    with closing(task_summary.of_list(session.store.db, home.id)) as tasks:
        shown = [{"uid": task.uid, "name": task.name, "status": task.status} for task in islice(tasks, _MAX_TASKS)]
    return {"list": home.handle, "name": home.name, "total": home.total, "tasks": shown}


def _inbox(session: Session) -> dict[str, Any]:
    db, agent = session.store.db, session.identity.agent
    asked = [one for one in asks.open_asks(db) if one.agent == agent]
    known = messages.agent(db, agent)
    return {
        "agent": agent,
        "paused": known is not None and known.paused,
        "questions": [{"ask": one.uid, "question": one.question, "at": iso(one.opened_at)} for one in asked],
        "messages": [{"at": iso(one.sent_at), "text": one.text} for one in messages.waiting(db, agent)],
    }


def changed_uris(entries: Iterable[Entry]) -> list[str]:
    """Return the URIs of what journal entries changed, each once."""
    return list(dict.fromkeys(uri for entry in entries for uri in _changed_uris(entry)))


def _changed_uris(entry: Entry) -> list[str]:
    if entry.entity in ("ask", "human_message", "agent"):
        return [INBOX]
    found = [_TASK + entry.task] if entry.task is not None else []
    handles = {(entry.image or {}).get("list"), entry.changes.get("list", [None])[0]}
    return [*found, *(_list_uri(handle) for handle in handles if isinstance(handle, str))]
