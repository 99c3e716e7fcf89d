"""`open_state`: the tasks of a database for a Python program, in its own process."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

import msgspec

from tui_tasks.channel.session import Session
from tui_tasks.channel.waits import ask
from tui_tasks.client.requests import ToolError, result
from tui_tasks.client.tools import Tools
from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.driver import storage_errors
from tui_tasks.core.errors import DatabaseRefused, InvalidRequest, Refusal
from tui_tasks.core.read.tasks import task_json_sql, task_queries
from tui_tasks.core.snapshots import TaskList
from tui_tasks.dialects import requests
from tui_tasks.dialects.requests import Identity, strict_json
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.settings import paths, project
from tui_tasks.state.open_store import opened_store, session_for

__all__ = ["DatabaseRefused", "State", "ToolError", "open_state"]

# So many events are read at a time.
_PAGE: Final = 500

Call = tuple[str, Mapping[str, Any]]


def open_state(
    db: str | None = None,
    *,
    agent: str = Identity().agent,
    list: str | None = None,
    project: str | None = None,
    read_only: bool = False,
    on_message: Callable[[str], None] = lambda text: None,
) -> State:
    """Open the tasks of a database; `with open_state(...) as state:` closes them.

    Without `db` it is `TUI_TASKS_DB`, else the user's own database, which is created if it does not exist. The options
    of `tui-tasks serve` have the same names and meanings.

    Args:
        db: the path of the database.
        agent: who makes the changes; the human sees the name, and can pause it.
        list: the list that every family of tools works on, and that `tasks` reads.
        project: the project; None: that of the working directory; "": none.
        read_only: whether calls that write are refused.
        on_message: called with what the human writes to the agent, at the next call.

    Raises:
        DatabaseRefused: the database cannot be used; it was not changed.
        ToolError: a name is invalid or reserved.
    """
    with contextlib.ExitStack() as opening, _as_tool_errors():
        identity = _identity(agent, list, project, read_only=read_only)
        store = opening.enter_context(opened_store(paths.database(db), read_only=read_only))
        session = session_for(identity, store, TABLE, stays=True)
        opening.callback(session.leave)
        return State(session, on_message, opening.pop_all())


def _identity(agent: str, list: str | None, of_project: str | None, *, read_only: bool) -> Identity:
    """Return the identity of a state.

    Raises:
        InvalidRequest: a name is invalid or reserved.
    """
    requests.checked_name("agent", agent)
    requests.checked_agent_name(agent)
    requests.checked_name("list", list)
    return Identity(agent, list, read_only, project=project.of_process(of_project))


@contextlib.contextmanager
def _as_tool_errors() -> Iterator[None]:
    """Raise refusals as `ToolError`, as the clients of the channel do.

    Raises:
        ToolError: the block raised a `Refusal`.
    """
    try:
        yield
    except Refusal as refusal:
        raise ToolError(refusal.code, refusal.message, refusal.data) from None


class State:
    """The tasks of a database, for one agent, to be used in the thread that opened it.

    Every method raises `ToolError` if it is refused, and has then written nothing.

    Attributes:
        tools: each tool as a method with typed arguments: `state.tools.tasklist_add_task(name="Build")`.
    """

    def __init__(self, session: Session, on_message: Callable[[str], None], opening: contextlib.ExitStack) -> None:
        """Use `open_state`. `opening` is closed with the state."""
        self._session = session
        self._db = session.store.db
        self._on_message = on_message
        self._opening = opening
        self._thread = threading.get_ident()
        self._is_closed = False
        self.tools = _StateTools(self)

    # Reading

    @property
    def seq(self) -> int:
        """The number of the newest change; every change by anybody increases it."""
        with self._checked_use():
            return journal.newest(self._db)

    def lists(self) -> list[ListObject]:
        """Return all lists and plans, oldest first."""
        with self._checked_use():
            return [_list_object(home) for home in task_queries.lists(self._db)]

    def tasks(self, list: str | None = None, statuses: Sequence[Status] = ()) -> list[TaskObject]:
        """Return the tasks of a list or plan in order.

        Args:
            list: the handle of the list; None: the list of the state, or every list if it has none.
            statuses: only tasks with these; empty: all.
        """
        with self._checked_use():
            for status in statuses:
                if status not in vocab.STATUSES:
                    raise InvalidRequest(f"no status {status!r}; use one of {', '.join(vocab.STATUSES)}")
            self._session.look_at_checks()
            with contextlib.closing(
                task_json_sql.tasks(self._db, list or self._session.identity.list, statuses)
            ) as texts:
                return [task for text in texts for task in msgspec.json.decode(f"[{text}]")]

    def task(self, reference: str) -> TaskObject:
        """Return the task with a uid, with 6 or more of its first characters, or with the number `#N` in its list."""
        return cast(TaskObject, self.call("control:task", {"uid": reference}))

    def changes(self, since: int, task: str | None = None) -> Iterator[Event]:
        """Yield the changes after a `seq`, oldest first, up to the newest; with `task` only those of the task with that
        uid.
        """
        next_since: int | None = since
        while next_since is not None:
            page = self.call("control:history", {"since": next_since, "limit": _PAGE, "task": task})
            yield from page["entries"]
            next_since = page["next"]

    # Writing

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **envelope: Any) -> Any:
        """Call a tool by its name; return its result. A change is durable when this returns.

        `envelope`: `if_version`, `idempotency_key`, `thoughts` and the like (docs: protocol, section 2).
        """
        request = _as_json({"tool": tool, "arguments": arguments or {}, **envelope})
        with self._checked_use():
            reply = ask(self._session, request)
        return result(reply, self._on_message)

    def commit(self, *calls: Call, **envelope: Any) -> list[Any]:
        """Make several calls as one change, all or none; return their results.

        `state.commit(("tasklist:add_task", {"name": "Build"}), ("tasklist:add_task", {"name": "Ship"}))`

        Raises:
            ToolError: a call was refused; `failed` in its data is the call's index.
        """
        batch = _as_json([{"tool": tool, "arguments": arguments, **envelope} for tool, arguments in calls])
        with self._checked_use():
            (line,) = self._session.answer([batch])
        answer = msgspec.json.decode(line)
        replies = answer if isinstance(answer, list) else [answer]
        for at, reply in enumerate(replies):
            # Find the call that was refused itself; the others name it in `failed`.
            if not reply["ok"] and "failed" not in reply["error"]["data"]:
                reply["error"]["data"]["failed"] = at
                result(reply, self._on_message)
        return [result(reply, self._on_message) for reply in replies]

    def close(self) -> None:
        """Close the database; the agent is no longer present."""
        self._is_closed = True
        self._opening.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _checked_use(self) -> Iterator[None]:
        if self._is_closed:
            raise RuntimeError("this state is closed: open another by open_state()")
        if threading.get_ident() != self._thread:
            raise RuntimeError("this state was opened by another thread: open one in each thread")
        with _as_tool_errors(), storage_errors(self._db.path, reading=True):
            yield


class _StateTools(Tools):
    def __init__(self, state: State) -> None:
        self._state = state

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self._state.call(tool, arguments)


def _list_object(home: TaskList) -> ListObject:
    counts = cast(dict[Status, int], {status: getattr(home, status) for status in vocab.STATUSES})
    return {
        "handle": home.handle,
        "uid": home.uid,
        "kind": "plan" if home.kind == "plan" else "list",
        "name": home.name,
        "project": home.project,
        "archived": home.archived,
        "counts": counts,
    }


def _as_json(value: Any) -> Any:
    """Return a value as its JSON is parsed, by the rules of the channel.

    Raises:
        ToolError: it cannot be written as JSON.
    """
    try:
        with _as_tool_errors():
            return strict_json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError("parse_error", f"this cannot be written as JSON: {error}", {}) from None


# The types of the objects that a state returns, which are those of the channel (docs: protocol, section 7).


Status = Literal["pending", "in_progress", "done", "failed", "skipped", "cancelled"]
Verified = Literal["unproven", "running", "passed", "failed", "stale"]


class CheckObject(TypedDict):
    """A check of a task and its last run.

    Attributes:
        name: the name of the check.
        state: what its last run shows.
        run_id: the id of that run.
        exit_code: the exit status of its command.
        output: the end of its output.
        at: when it ended, or began if it runs.
        commit: the git commit of its folder when it began.
        diff: the hash of the uncommitted changes then.
        machine: the id of its machine on a server.
    """

    name: str
    state: Verified
    run_id: str | None
    exit_code: int | None
    output: str | None
    at: str | None
    commit: str | None
    diff: str | None
    machine: str | None


class LinkObject(TypedDict):
    """What a task is about: a branch, a commit, a pull request or a file."""

    kind: Literal["branch", "commit", "pull_request", "file"]
    target: str


class TaskObject(TypedDict):
    """A task with every field. Instants are ISO 8601 in UTC.

    Attributes:
        uid: its id.
        number: its number, `#12`, which never changes.
        key: an id that the caller chose.
        list: the handle of its list.
        priority: 1 is the most urgent.
        agent: the agent to which it is assigned.
        intent: what its agent is about to do.
        depends_on: the uids of the tasks that must be finished before.
        blocked: whether one of them is unfinished.
        held: whether it waits for the human's acceptance.
        node_ids: graph nodes that it is linked to.
        version: increased by every change, for `if_version`.
        due: a date, or an instant.
        estimate: minutes.
        verified: the state of its checks together; None without checks.
        work: the newest of `works`; None without one.
        works: the agents that the human started on it, oldest first (docs: protocol, section 12).
    """

    uid: str
    number: int
    key: str | None
    list: str
    name: str
    description: str
    status: Status
    priority: int
    tags: list[str]
    domain: str | None
    result: Any
    metadata: Any
    agent: str | None
    intent: str | None
    depends_on: list[str]
    blocked: bool
    held: bool
    node_ids: list[str]
    version: int
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None
    due: str | None
    estimate: int | None
    links: list[LinkObject]
    verified: Verified | None
    checks: list[CheckObject]
    work: dict[str, Any] | None
    works: list[dict[str, Any]]


class ListObject(TypedDict):
    """A list or plan. `handle` names it in calls: a list's name, a plan's id."""

    handle: str
    uid: str
    kind: Literal["list", "plan"]
    name: str
    project: str | None
    archived: bool
    counts: dict[Status, int]


class Event(TypedDict):
    """A change in the state; some kinds have further keys.

    Attributes:
        event: its kind, such as `task.updated`.
        seq: its number in the journal.
        at: when, as ISO 8601 in UTC.
        actor: who made it.
        task: the task as it was afterwards.
        changes: the values before and after, by field.
        why: the reasoning given with the request.
    """

    event: str
    seq: int
    at: str
    actor: str
    task: NotRequired[TaskObject]
    changes: NotRequired[dict[str, list[Any]]]
    why: dict[str, Any] | None
