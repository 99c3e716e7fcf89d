"""`task`, the deprecated `agent`, and `memory` (seed 001): a task board that keeps results as memories."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Raw

from tui_tasks.core import vocab
from tui_tasks.core.errors import NotFound, Refusal
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.read.tasks import task_queries, task_records, task_search
from tui_tasks.core.snapshots import Memory, Task, iso
from tui_tasks.dialects.long_replies import After, ArrayWriter, Brief, LongValue, TextWriter, page_array
from tui_tasks.dialects.requests import StatusWords, arguments
from tui_tasks.dialects.requests.arguments import Arguments, Name, Natural, Open, TaskUid, Text, Uid, decode
from tui_tasks.dialects.requests.tool_actions import Actions
from tui_tasks.dialects.tool_table import INTEGER, Call, Table, list_of, object_of, require_one_of

BOARD = Table()

WORDS = StatusWords(
    {
        "pending": "open",
        "in_progress": "in_progress",
        "done": "completed",
        "failed": "cancelled",
        "skipped": "cancelled",
        "cancelled": "cancelled",
    }
)

TaskId = TaskUid
Title = Name
Description = Annotated[Text, Meta(description="What to do.")]
Status = Literal["open", "in_progress", "completed", "cancelled"]
Priority = Literal["low", "medium", "high", "urgent"]
Tags = Annotated[arguments.Tags, Meta(description="list: tasks with all of them.")]
Domain = Annotated[Name, Meta(description="The field of knowledge.")]
Result = Annotated[dict[str, Any], Meta(description="The outcome.")]
Metadata = dict[str, Any]
Query = Annotated[Text, Meta(description="Part of the text, any case.")]
Limit = Natural


def priority_of(word: str, current: int) -> int:
    """Return the priority for a word; if the word already stands for `current`, that (docs: protocol, section 4)."""
    return current if vocab.priority_word(current) == word else vocab.PRIORITY_WORDS[word]


def task_json(task: Task) -> dict[str, Any]:
    """Return a task in the form of `structuredContent` (docs: protocol, section 6)."""
    return {
        "task_id": task.uid,
        "title": task.name,
        "description": task.description,
        "status": WORDS.word(task.status),
        "priority": vocab.priority_word(task.priority),
        "tags": task.tags,
        "domain": task.domain,
        "result": task.result,
        "metadata": task.metadata,
    }


def _content(text: str | Raw | LongValue, structured: dict[str, Any] | None = None) -> dict[str, Any]:
    content = {"content": [{"type": "text", "text": text}]}
    return content if structured is None else {**content, "structuredContent": structured}


def _refused(refusal: Refusal) -> dict[str, Any]:
    """Return the dialect's own form of a refusal (docs: protocol, section 3)."""
    return {**_content(refusal.message), "isError": True}


# What models call actions that are another tool's.
_READ: Final = 'the action list finds tasks by query, tags and status; control:task with {"uid": ...} reads one task'
_DELETE: Final = (
    'set its status to cancelled by the action update, or delete it by tasklist:delete_task with {"uid": ...}'
)
_FINISH: Final = 'send {"action": "update", "task_id": ..., "status": "completed"}'
TASK = Actions(
    {
        **dict.fromkeys(("get", "show", "read", "view", "get_task"), _READ),
        **dict.fromkeys(("delete", "remove", "archive", "delete_task"), _DELETE),
        **dict.fromkeys(("complete", "done", "finish", "close"), _FINISH),
    }
)


class _Create(Arguments):
    title: Title
    description: Description = ""
    status: Status = "open"
    priority: Priority = "medium"
    tags: Tags = []
    domain: Domain | None = None
    metadata: Metadata | None = None


@TASK.action("create", _Create, writes=True)
def create(call: Call, given: _Create) -> dict[str, Any]:
    """Add a task, by default open and medium. Returns the task; keep its id."""
    task = call.run(
        AddTask(
            given.title,
            call.made_home("task").uid,
            given.description,
            status=WORDS.status_of(given.status),
            priority=vocab.PRIORITY_WORDS[given.priority],
            tags=tuple(given.tags),
            domain=given.domain,
            metadata=given.metadata,
        )
    )
    lines = [f"Task created: {task.name} ({task.uid})", f"Priority: {given.priority}", f"Status: {given.status}"]
    if task.domain is not None:
        lines.append(f"Domain: {task.domain}")
    return _content("\n".join(lines), {"task": task_json(task)})


class _Update(Arguments):
    task_id: TaskId
    title: Title | None = None
    status: Status | None = None
    priority: Priority | None = None
    domain: Domain | None = None
    tags: Tags | None = None
    description: Description | None = None
    result: Result | None = None
    metadata: Metadata | None = None


@TASK.action("update", _Update, writes=True, subject="task_id")
def update(call: Call, given: _Update) -> dict[str, Any]:
    """Change a task. Complete it with a `result`, which is kept as a memory. Returns the task, and the `memory_id`."""
    named = {name: value for name in _REPLY_FIELDS if (value := getattr(given, name)) is not None}
    require_one_of("status", dict.fromkeys(_REPLY_FIELDS) | named)
    before = task_queries.task(call.db, given.task_id)
    task = call.run(EditTask(before.uid, _changes(before, named)))
    memory = None
    if (given.status == "completed" or given.result is not None) and task.status == "done":
        memory = task_records.memory_of(call.db, task.uid)
    structured: dict[str, Any] = {"task": task_json(task)}
    if memory is not None:
        structured["memory_id"] = memory.uid
    return _content(_update_text(task.uid, named, memory), structured)


# In the order of the reply's text, which has only the names of the last three (docs: protocol, section 6).
_REPLY_FIELDS = ("title", "status", "priority", "domain", "tags", "description", "result", "metadata")
_ONLY_NAMED = frozenset({"description", "result", "metadata"})


def _changes(before: Task, named: dict[str, Any]) -> dict[str, Any]:
    """Return the state's fields with their new values for the named fields of the dialect."""
    changes = dict(named)
    if "title" in changes:
        changes["name"] = changes.pop("title")
    if "status" in changes:
        changes["status"] = WORDS.status_of(changes["status"], before.status)
    if "priority" in changes:
        changes["priority"] = priority_of(changes["priority"], before.priority)
    if "tags" in changes:
        changes["tags"] = tuple(changes["tags"])
    return changes


def _update_text(uid: str, named: dict[str, Any], memory: Memory | None) -> str:
    parts = []
    for name, value in named.items():
        if name not in _ONLY_NAMED:
            parts.append(f"{name} → {', '.join(value) if name == 'tags' else value}")
        elif name != "result" or memory is None:
            parts.append(name)
    text = f"Task {uid} updated{': ' if parts else ''}{', '.join(parts)}."
    if memory is None:
        return text
    domain = f" in domain: {memory.domain}" if memory.domain is not None else ""
    return f"{text}\nResult saved as memory {memory.uid}{domain}."


class _List(Arguments):
    status: Status | None = None
    domain: Domain | None = None
    priority: Priority | None = None
    tags: Tags = []
    query: Query | None = None
    limit: Limit | None = None
    after: After | None = None
    brief: Brief = False


@TASK.action("list", _List)
def list_tasks(call: Call, given: _List) -> dict[str, Any]:
    """Read the board, most urgent first, then oldest. Returns `tasks` and `total`, the number of matches."""
    home = call.home("task")
    if home is None:
        if given.after is not None:
            raise NotFound("task", given.after)
        return _content(_head(given, 0), {"tasks": [], "total": 0})
    matches, total = task_search.tasks(
        call.db,
        home.id,
        statuses=WORDS.statuses(given.status) if given.status else vocab.STATUSES,
        priorities=_priorities(given.priority) if given.priority else task_search.ANY_PRIORITY,
        tags=given.tags,
        domain=given.domain,
        query=given.query,
        limit=given.limit,
        after=given.after,
    )
    array, text = ArrayWriter(call.db), TextWriter(call.db)
    text.add(_head(given, total))
    number = 0
    with closing(matches) as tasks:
        for number, task in enumerate(tasks, 1):
            whole = task_json(task)
            array.add({key: whole[key] for key in _BRIEF} if given.brief else whole)
            text.add(f"\n\n{_line(number, task)}")
    if number < total:
        text.add(f"\n\n(showing {number} of {total})")
    return _content(text.value(), {"tasks": array.value(), "total": total})


_BRIEF = ("task_id", "title", "status")


def _priorities(word: str) -> tuple[int, int]:
    """Return the lowest and the highest number of a priority word."""
    number = vocab.PRIORITY_WORDS[word]
    return number, task_search.ANY_PRIORITY[1] if number == vocab.LOW else number


def _head(given: _List, total: int) -> str:
    """Return a line that says how many tasks match which filters."""
    words = [
        *([given.status.replace("_", " ")] if given.status else []),
        *([f"{given.priority}-priority"] if given.priority else []),
        "task" if total == 1 else "tasks",
        *([f"in {given.domain}"] if given.domain else []),
        *([f"tagged {', '.join(given.tags)}"] if given.tags else []),
        *([f'matching "{given.query}"'] if given.query is not None else []),
    ]
    return f"{total} {' '.join(words)}:" if total else f"No {' '.join(words)}."


def _line(number: int, task: Task) -> str:
    tags = f"\n Tags: {', '.join(task.tags)}" if task.tags else ""
    return f"{number}. [{task.uid}] {task.name} ({vocab.priority_word(task.priority)}){tags}"


TASK.make_tool(
    BOARD,
    "task",
    "The task board: tasks with priority, tags and domain. Use it for work sorted by urgency and topic, with "
    "results worth keeping. Each action takes the arguments in parentheses.",
    refusal=_refused,
    output=object_of(
        "", task=object_of("task_id title status"), tasks=list_of(object_of("task_id title status")), total=INTEGER
    ),
)


_ROUTED = {"create_task": "create", "update_task": "update", "list_tasks": "list"}


class _Agent(Open):
    action: str


def _updated_task(given: _Agent) -> str | None:
    uid = given.rest.get("task_id") if given.action == "update_task" else None
    return uid if isinstance(uid, str) else None


@BOARD.tool(
    "agent",
    _Agent,
    writes=lambda given: given.action in ("create_task", "update_task"),
    subject=_updated_task,
    refusal=_refused,
)
def agent(call: Call, given: _Agent) -> dict[str, Any]:
    """Deprecated: use `task`. The actions create_task, update_task and list_tasks are routed there."""
    action = _ROUTED.get(given.action)
    if action is None:
        return _content(
            f"The agent tool is deprecated, its action {given.action[:100]} does nothing: use the task tool."
        )
    tool = BOARD.tools["task"]
    return dict(tool.handler(call, decode(tool.arguments, given.rest | {"action": action}, call.now)))


_SAVE: Final = (
    "a memory is saved when a task is completed with a result: send "
    '{"tool": "task", "arguments": {"action": "update", "task_id": ..., "status": "completed", "result": "..."}}'
)
_CHANGE: Final = "no agent deletes a memory; completing its task again with another result rewrites it"
MEMORY = Actions(
    {
        **dict.fromkeys(("add", "save", "create", "store", "write", "set", "remember", "put", "insert"), _SAVE),
        **dict.fromkeys(("delete", "remove", "clear", "forget", "update", "edit"), _CHANGE),
    }
)


def _memory_json(memory: Memory) -> dict[str, Any]:
    return {
        "memory_id": memory.uid,
        "task_id": memory.task_uid,
        "title": memory.title,
        "domain": memory.domain,
        "content": memory.content,
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
    }


def _found_memories(call: Call, **wanted: Any) -> tuple[Generator[Memory, None, None], int]:
    if not call.channel.identity.list_only:
        return task_search.memories(call.db, **wanted)
    only = call.only_list
    return task_search.memories(call.db, list_id=only.id, **wanted) if only is not None else (_no_memories(), 0)


def _no_memories() -> Generator[Memory, None, None]:
    yield from ()


def _memories(call: Call, query: str | None, domain: str | None, limit: int | None) -> dict[str, Any]:
    memories, total = _found_memories(call, query=query, domain=domain, limit=limit)
    return {"memories": page_array(call.db, memories, None, _memory_json), "total": total}


class _ListMemories(Arguments):
    query: Query | None = None
    domain: Domain | None = None
    limit: Limit | None = None


@MEMORY.action("list", _ListMemories)
def list_memories(call: Call, given: _ListMemories) -> dict[str, Any]:
    """Read them, last updated first. Returns `memories` and `total`."""
    return _memories(call, given.query, given.domain, given.limit)


class _SearchMemories(Arguments):
    query: Query
    domain: Domain | None = None
    limit: Limit | None = None


@MEMORY.action("search", _SearchMemories)
def search_memories(call: Call, given: _SearchMemories) -> dict[str, Any]:
    """Read those with `query` in title or content."""
    return _memories(call, given.query, given.domain, given.limit)


class _GetMemory(Arguments):
    memory_id: Uid


@MEMORY.action("get", _GetMemory)
def get_memory(call: Call, given: _GetMemory) -> dict[str, Any]:
    """Read one."""
    memories, _ = _found_memories(call, uid=given.memory_id)
    with closing(memories):
        memory = next(memories, None)
    if memory is None:
        raise NotFound("memory", given.memory_id)
    return _memory_json(memory)


MEMORY.make_tool(
    BOARD,
    "memory",
    "Results of completed tasks, kept even if the task is deleted. Search them before you repeat work.",
    output=object_of(""),
)
