"""What a client may read without a tool: resources, notice of their changes, and prompts for a person's menu."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from tui_tasks.channel.session import Session
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import CursorExpired, NotFound, Refusal
from tui_tasks.core.read import ask_queries, message_queries, work_text
from tui_tasks.core.read.tasks import task_queries, task_summary
from tui_tasks.core.snapshots import Entry, TaskList, full_task, iso
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.requests.confinement import is_visible

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
    lists = [
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
    return [types.Resource(uri=INBOX, name="inbox", title="Inbox", mime_type=_JSON, description=about), *lists]


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
    lists = [home for home in task_queries.lists(session.store.db) if not home.archived]
    return [home for home in lists if only is None or home.handle == only]


def read(session: Session, uri: str) -> types.ReadResourceResult:
    """Return the resource at a URI.

    Raises:
        MCPError: there is none.
    """
    try:
        with session.store.reading():
            lists = _read(session, uri)
    except Refusal as refused:
        raise MCPError(code=types.INVALID_PARAMS, message=refused.message, data={"uri": uri}) from None
    text = json.dumps(lists, ensure_ascii=False, separators=(",", ":"))
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
    task = task_queries.any_task(session.store.db, uid) if uri.startswith(_TASK) else None
    home = task_queries.list_by_id(session.store.db, task.list_id) if task is not None else None
    if task is None or home is None or (session.identity.list_only and home.handle != session.identity.list):
        raise NotFound("resource", uri)
    return full_task(task, home.handle, (), work_text.json_of_task(session.store.db, task.uid))


def _list(session: Session, home: TaskList) -> dict[str, Any]:
    with closing(task_summary.of_list(session.store.db, home.id)) as tasks:
        shown = [{"uid": task.uid, "name": task.name, "status": task.status} for task in islice(tasks, _MAX_TASKS)]
    return {"list": home.handle, "name": home.name, "total": home.total, "tasks": shown}


def _inbox(session: Session) -> dict[str, Any]:
    db, agent = session.store.db, session.identity.agent
    asked = [one for one in ask_queries.open_asks(db) if one.agent == agent]
    known = message_queries.agent(db, agent)
    return {
        "agent": agent,
        "paused": known is not None and known.paused,
        "questions": [{"ask": one.uid, "question": one.question, "at": iso(one.opened_at)} for one in asked],
        "messages": [{"at": iso(one.sent_at), "text": one.text} for one in message_queries.waiting(db, agent)],
    }


def _changed_uris(entry: Entry) -> list[str]:
    if entry.entity in ("ask", "human_message", "agent"):
        return [INBOX]
    uris = [_TASK + entry.task] if entry.task is not None else []
    handles = {(entry.image or {}).get("list"), entry.changes.get("list", [None])[0]}
    return [*uris, *(_list_uri(handle) for handle in handles if isinstance(handle, str))]


# So many entries are read at a time.
_PAGE: Final = 1_000
_SEND_SECONDS: Final = 1
# The most subscribers of a resource; the oldest are dropped, as clients may disappear without unsubscribing.
_MAX_SUBSCRIBERS: Final = 100


class ResourceSubscriptions:
    """The subscribers of each resource, and their position in the journal.

    Attributes:
        listen: serves `subscriptions/listen`.
    """

    def __init__(self, store: Store, identity: Callable[[], Identity]) -> None:
        self._store = store
        self._identity = identity
        self._bus = InMemorySubscriptionBus()
        self.listen: Final = ListenHandler(self._bus)
        self._listening = 0
        self._subscribed: dict[str, list[ServerSession]] = {}
        self._cursor = journal.newest(store.db)

    @property
    def has_subscribers(self) -> bool:
        """Whether anybody is subscribed."""
        return bool(self._subscribed) or self._listening > 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Count a listener while the block runs."""
        self._begin()
        self._listening += 1
        try:
            yield
        finally:
            self._listening -= 1

    def subscribe(self, session: ServerSession, uri: str) -> None:
        """Notify a client of an earlier revision when a resource changes."""
        self._begin()
        self.unsubscribe(session, uri)
        self._subscribed[uri] = [*self._subscribed.get(uri, ())[-_MAX_SUBSCRIBERS:], session]

    def unsubscribe(self, session: ServerSession, uri: str) -> None:
        """End a client's subscription to a resource."""
        # Each request has a session object of its own; `client_params` is the same for the whole connection.
        others = [one for one in self._subscribed.pop(uri, ()) if one.client_params is not session.client_params]
        if others:
            self._subscribed[uri] = others

    def _begin(self) -> None:
        if not self.has_subscribers:
            self._cursor = journal.newest(self._store.db)

    async def notify(self) -> None:
        """Notify the subscribers of what changed since the last call.

        Raises:
            StorageFailed: try again later.
        """
        while self.has_subscribers and (uris := self._changed_uris()) is not None:
            for uri in uris:
                await self._bus.publish(ResourceUpdated(uri=uri))
                for session in self._subscribed.get(uri, ()):
                    # A client that does not read must not delay the others.
                    with anyio.move_on_after(_SEND_SECONDS):
                        await session.send_resource_updated(uri)

    def _changed_uris(self) -> list[str] | None:
        """Return the URIs that the next entries changed; None without new entries."""
        db = self._store.db
        try:
            with db.transaction(write=False), closing(journal.each_since(db, self._cursor, _PAGE)) as page:
                entries = list(page)
                visible = [entry for entry in entries if is_visible(db, self._identity(), entry)]
        except CursorExpired:
            self._cursor = journal.newest(db)
            return list(self._subscribed)
        if not entries:
            return None
        self._cursor = entries[-1].seq
        return list(dict.fromkeys(uri for entry in visible for uri in _changed_uris(entry)))


class _Prompt(NamedTuple):
    title: str
    description: str
    text: str


_PROMPTS: Final = {
    "next": _Prompt(
        "What to do next",
        "Look at the lists, and start the next task.",
        "Look at the open tasks of the task list that we share. Tell me in a few lines what is in progress, what is "
        "blocked and by what, and what comes next. Then start the next task that no other agent has: set it in "
        "progress, or claim it where several agents work, and begin. Ask me if a decision is mine.",
    ),
    "hand_over": _Prompt(
        "Hand over",
        "Leave everything ready for the next agent.",
        "You are about to hand your work over. For each task that you have in progress, log what was done, what is "
        "left and what you found out. Save its state if a tool can. Unless it is done, set it back to pending or "
        "release your claim. Then tell me in a few lines where the next agent should begin.",
    ),
    "retrospective": _Prompt(
        "Retrospective",
        "Look back on the work, and what to learn from it.",
        "Look at the history of the task lists. Tell me what was done and by whom, what failed or was skipped and why, "
        "what took long or was done twice, and what was undone. Propose at most three changes to how we work, and add "
        "a task for each that I agree to.",
    ),
}


def all_prompts() -> list[types.Prompt]:
    """Return all prompts."""
    return [
        types.Prompt(name=name, title=prompt.title, description=prompt.description) for name, prompt in _PROMPTS.items()
    ]


def get(name: str) -> types.GetPromptResult:
    """Return a prompt, as a message of the person.

    Raises:
        MCPError: there is none of that name.
    """
    prompt = _PROMPTS.get(name)
    if prompt is None:
        raise MCPError(code=types.INVALID_PARAMS, message=f"no prompt {name[:100]}; use one of {', '.join(_PROMPTS)}")
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=prompt.text))
    return types.GetPromptResult(description=prompt.description, messages=[message])
