"""What all dialects share: the table of tools, the call that a tool receives, schemas of results; and the table of
all tools, which the channel, the command line and MCP serve.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from tui_tasks.core.commit.transaction import Reading, Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import InvalidArgument, Refusal
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task, TaskList, full_task
from tui_tasks.dialects.requests import Identity, own_list
from tui_tasks.dialects.requests.arguments import Arguments

A = TypeVar("A", bound=Arguments)
Shape = dict[str, Any]
"""A JSON schema of results: what each holds; it may hold more."""
TEXT: Final[Shape] = {"type": "string"}
INTEGER: Final[Shape] = {"type": "integer"}
ANY_OBJECT: Final[Shape] = {"type": "object"}


def object_of(required: str, **others: Shape) -> Shape:
    """Return the schema of an object with some members `required`; others are optional. The schema of a member may be
    given.
    """
    names = required.split()
    made: Shape = {"type": "object", "properties": {name: others.get(name, {}) for name in [*names, *others]}}
    return {**made, "required": names} if names else made


def list_of(item: Shape) -> Shape:
    """Return the schema of a list of such items."""
    return {"type": "array", "items": item}


def or_null(shape: Shape) -> Shape:
    """Return the schema of what may be null."""
    return {"anyOf": [shape, {"type": "null"}]}


class SubscriptionControl(Protocol):
    """The subscription of a channel, as tools start and end it."""

    def begin(self, since: int | None, agent: str) -> int:
        """Start sending `agent` the events after `since` (None: after the newest); return the seq after which they
        start.
        """

    def end(self) -> None:
        """Stop sending events."""


class Channel(Protocol):
    """What a tool may use of the session in which it is called."""

    @property
    def table(self) -> Table:
        """The served tools."""

    @property
    def identity(self) -> Identity:
        """The default agent and list, and the restrictions of the channel."""

    @property
    def subscription(self) -> SubscriptionControl:
        """The channel's subscription."""

    def database_now(self) -> int:
        """Return the database's instant in microseconds (`database_clock`)."""

    def cancel(self, agent: str, id: str | int) -> None:
        """Give up the requests of an agent with that id which wait."""


class Call(msgspec.Struct):
    """A request as a tool receives it.

    Attributes:
        db: the database, to read from.
        now: the time of day, in microseconds since the epoch.
        agent: who makes the request.
        channel: the session.
        bound_list: the list of the request or the session; None: the dialect's own.
        transaction: the open write transaction; None if the tool only reads.
        reading: the open transaction of either kind; None for a request that has waited.
        resumes: for a repeated request under an idempotency key, the uid of what the first one waits for.
        note: a text for the reply beside a result of fixed form: why it is empty, or why something failed.
    """

    db: Database
    now: int
    agent: str
    channel: Channel
    bound_list: str | None = None
    transaction: Transaction | None = None
    reading: Reading | None = None
    resumes: str | None = None
    note: str | None = None

    @property
    def database_now(self) -> int:
        """Return the database's instant (`database_clock`), in microseconds, by which leases and waits end."""
        return self.transaction.database_now if self.transaction is not None else self.channel.database_now()

    @property
    def only_list(self) -> TaskList | None:
        """The list to which the channel is restricted (`--list-only`); None if there is none or it does not exist."""
        identity = self.channel.identity
        if not identity.list_only or identity.list is None:
            return None
        return self._find_list(identity.list)

    def _find_list(self, handle: str) -> TaskList | None:
        return (
            self.transaction.state_cache.find_list(handle)
            if self.transaction
            else task_queries.find_list(self.db, handle)
        )

    def run(self, operation: Operation) -> Any:
        """Run an operation within the transaction of the request.

        Raises:
            Refusal: the state forbids it.
        """
        assert self.transaction is not None, "the tool is not marked as one that writes"
        return self.transaction.run(operation)

    def home(self, dialect: str) -> TaskList | None:
        """Return the list that a dialect works on; None if it does not exist yet.

        See docs: protocol, section 5.
        """
        return self._find_list(self.bound_list or own_list(dialect, self.project))

    @property
    def project(self) -> str | None:
        """The project of the channel, whose lists it looks through when none is named; None: it looks through all."""
        return self.channel.identity.project

    def made_home(self, dialect: str) -> TaskList:
        """Return the list that a dialect works on; create it at first use."""
        home = self.home(dialect)
        if home is not None:
            return home
        name = self.bound_list or own_list(dialect, self.project)
        return cast(TaskList, self.run(EnsureList(name, dialect, self.project)))

    def handle(self, task: Task) -> str:
        """Return the handle of a task's list, which names it on the channel."""
        return self._list_of(task).handle

    def full(self, task: Task) -> dict[str, Any]:
        """Return a task as JSON with every field (docs: protocol, section 7)."""
        home = self._list_of(task)
        if self.reading is None:
            from tui_tasks.core.read import check_queries, work_text  # for a request that has waited

            works = work_text.json_of_task(self.db, task.uid)
            checks = check_queries.of_task(self.db, task, home, check_queries.definitions(self.db))
        else:
            cache = self.reading.state_cache
            works, checks = cache.works_of(task.uid), cache.checks_of(task, home)
        return full_task(task, home.handle, [check.to_json() for check in checks], works)

    def _list_of(self, task: Task) -> TaskList:
        if self.reading is None:
            return task_queries.list_by_id(self.db, task.list_id)
        return self.reading.state_cache.list_by_id(task.list_id)


FULL_TASK: Final = object_of(
    "uid list name description status priority version", uid=TEXT, priority=INTEGER, version=INTEGER
)
"""The schema of `Call.full`."""


class Wait(msgspec.Struct):
    """Returned by a tool whose reply comes later.

    At the end of the input, a wait without a deadline gives up at once.

    Attributes:
        check: called after every change; returns the result, or None to continue waiting.
        give_up: called at the deadline; returns the result, or raises the refusal.
        deadline: in microseconds, as `Call.database_now`; None: never.
        subject: the uid of what is waited for; a request repeated under its idempotency key gets it as `Call.resumes`.
        abandon: called in place of `give_up` if the caller is gone or has cancelled the request.
        question: the uid of the question to which the agent waits for the answer.
    """

    check: Callable[[Call], Any]
    give_up: Callable[[Call], Any]
    deadline: int | None
    subject: str | None = None
    abandon: Callable[[Call], Any] | None = None
    question: str | None = None


class Tool(msgspec.Struct, frozen=True):
    """A tool: its name, its arguments, its handler, and how it is served.

    Attributes:
        name: with its dialect, such as `tasklist:add_task`.
        description: the text that agents read.
        arguments: the struct of its arguments.
        handler: returns the result of a call.
        writes: whether a call with these arguments writes.
        subject: returns the uid of the task that a call changes; None if it does not change exactly one.
        output: the JSON schema of its results.
        ever_writes: whether some calls write.
        ever_names_task: whether some calls change exactly one named task.
        waits: whether its reply may wait for something to happen.
        refusal: returns the dialect's own form of a refusal (docs: protocol, section 3).
        human: whether only the human may call it.
        while_paused: whether a paused agent may call it.
        same_as: the tool and action that do the same.
        in_steps: whether a call with these arguments is written in steps, because it may be long and others must be
            able to write; None: never.
        argument_names: the names of its arguments.
        destructive: whether an agent cannot undo what it does; the human can undo everything.
        idempotent: whether a second equal call changes nothing more.
    """

    name: str
    description: str
    arguments: type[Arguments]
    handler: Callable[[Call, Any], Any]
    writes: Callable[[Any], bool]
    subject: Callable[[Any], str | None]
    output: Shape
    ever_writes: bool = False
    ever_names_task: bool = False
    waits: bool = False
    refusal: Callable[[Refusal], Any] | None = None
    human: bool = False
    while_paused: bool = False
    same_as: tuple[str, str] | None = None
    in_steps: Callable[[Any], bool] | None = None
    argument_names: frozenset[str] = frozenset()
    destructive: bool = False
    idempotent: bool = False


class Table:
    """The tools by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    @property
    def tools(self) -> dict[str, Tool]:
        """All tools by name."""
        return self._tools

    def find(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self.tools.get(name)

    def add(self, other: Table) -> None:
        """Add the tools of another table, after those that are here."""
        self._tools |= other.tools

    def tool(
        self,
        name: str,
        arguments: type[A],
        *,
        writes: bool | Callable[[A], bool] = False,
        subject: str | Callable[[A], str | None] | None = None,
        waits: bool = False,
        refusal: Callable[[Refusal], Any] | None = None,
        human: bool = False,
        while_paused: bool = False,
        in_steps: bool | Callable[[A], bool] = False,
        same_as: tuple[str, str] | None = None,
        output: Shape = ANY_OBJECT,
        destructive: bool = False,
        idempotent: bool = False,
    ) -> Callable[[Callable[[Call, A], Any]], Callable[[Call, A], Any]]:
        """Return a decorator that declares a tool; the handler's docstring is the description that agents read.

        `subject` is the name of the argument with the uid of the one task that a call changes.
        """

        def register(handler: Callable[[Call, A], Any]) -> Callable[[Call, A], Any]:
            self._tools[name] = Tool(
                name=name,
                description=_unwrapped(docstring(handler)),
                arguments=arguments,
                handler=handler,
                writes=writes if callable(writes) else lambda _: bool(writes),
                subject=_subject(subject),
                ever_writes=writes is not False,
                ever_names_task=subject is not None,
                waits=waits,
                refusal=refusal,
                human=human,
                while_paused=while_paused,
                in_steps=in_steps if callable(in_steps) else (lambda _: True) if in_steps else None,
                same_as=same_as,
                argument_names=frozenset(arguments.__struct_fields__),
                output=output,
                destructive=destructive,
                idempotent=idempotent,
            )
            return handler

        return register


def _subject(subject: str | Callable[[Any], str | None] | None) -> Callable[[Any], str | None]:
    if subject is None:
        return lambda _: None
    if callable(subject):
        return subject
    return lambda arguments: getattr(arguments, subject)


def docstring(handler: Callable[..., Any]) -> str:
    """Return a handler's docstring, under `python -OO` from the source: agents need it as the tool's description."""
    if handler.__doc__ is not None or sys.flags.optimize < 2:
        return handler.__doc__ or ""
    import ast
    import inspect
    import textwrap

    (defined,) = ast.parse(textwrap.dedent(inspect.getsource(handler))).body
    return ast.get_docstring(cast(ast.FunctionDef, defined), clean=False) or ""


def _unwrapped(text: str) -> str:
    """Return a docstring with one line for each paragraph."""
    paragraphs = text.strip().split("\n\n")
    return "\n".join(" ".join(line.strip() for line in paragraph.splitlines()) for paragraph in paragraphs)


def require_one_of(argument: str, given: Mapping[str, Any]) -> None:
    """Refuse a call without any of the given arguments.

    Raises:
        InvalidArgument: all of them are absent.
    """
    if all(value is None for value in given.values()):
        raise InvalidArgument(argument, f"at least one of {', '.join(given)} is needed")


# The modules in the order in which their tools are listed; each has its table under its own name in capitals.
_MODULES: Final = ("control", "tasklist", "board", "todo", "scheduler", "plans")
# The module by the part of a tool's name before the colon.
_BY_NAME: Final = {module: module for module in _MODULES} | {"task": "board", "memory": "board", "tasks": "plans"}


class _AllTools(Table):
    """The tools of every dialect; a dialect is imported on first use, because a command needs only one."""

    def __init__(self) -> None:
        super().__init__()
        # Of the lookups so far: one takes as long as reading a task.
        self._found: dict[str, Tool] = {}

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """All tools by name."""
        return {name: tool for module in _MODULES for name, tool in _table(module).tools.items()}

    def find(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        tool = self._found.get(name)
        if tool is None:
            module = _BY_NAME.get(name.partition(":")[0])
            tool = (_table(module).find(name) if module else None) or super().find(name)
            if tool is not None:
                self._found[name] = tool
        return tool


def _table(module: str) -> Table:
    table: Table = getattr(import_module(f"tui_tasks.dialects.{module}"), module.upper())
    return table


TABLE: Final = _AllTools()
