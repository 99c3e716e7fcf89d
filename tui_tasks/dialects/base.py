"""What the dialects stand on: the tool table, the call a tool is given, and the words for the statuses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import InvalidArgument, Refusal
from tui_tasks.core.operations import EnsureList, Operation
from tui_tasks.core.read import checks
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Task, TaskList, full_task
from tui_tasks.core.store import Transaction
from tui_tasks.dialects.requests.arguments import Arguments, task_arguments
from tui_tasks.dialects.requests.identity import Identity, own_list

A = TypeVar("A", bound=Arguments)


class Listener(Protocol):
    """Where a subscription begins and ends."""

    def begin(self, since: int | None, agent: str) -> int:
        """Send `agent` events after `since`, or from now on; return where they start."""

    def end(self) -> None:
        """Send no more events."""


class Channel(Protocol):
    """What a tool may ask of the conversation it is called in."""

    @property
    def table(self) -> Table:
        """The tools that are served."""

    @property
    def identity(self) -> Identity:
        """Who speaks, by default."""

    @property
    def subscription(self) -> Listener:
        """Its events."""

    def passed(self) -> int:
        """The database's own instant (`elapsed`)."""


class Call(msgspec.Struct):
    """One request, as a tool sees it: who speaks, on which list, and the state to read and write."""

    db: Database
    now: int
    agent: str
    channel: Channel
    bound_list: str | None = None
    transaction: Transaction | None = None
    # What this request, when it first came, waits for.
    resumes: str | None = None
    # What the reply says beside a result whose form is fixed: why there is nothing, why something failed.
    note: str | None = None

    @property
    def passed(self) -> int:
        """The database's own instant (`elapsed`), by which things end."""
        return self.transaction.passed if self.transaction is not None else self.channel.passed()

    @property
    def only_list(self) -> TaskList | None:
        """The list that the channel is kept to (`--list-only`); None where there is no such, or it is not made yet."""
        identity = self.channel.identity
        if not identity.list_only or identity.list is None:
            return None
        return self._find_list(identity.list)

    def _find_list(self, handle: str) -> TaskList | None:
        return self.transaction.known.find_list(handle) if self.transaction else queries.find_list(self.db, handle)

    def run(self, operation: Operation) -> Any:
        """Write: run an operation within the transaction of the request.

        Raises:
            Refusal: the state forbids it.
        """
        assert self.transaction is not None, "the tool is not marked as one that writes"
        return self.transaction.run(operation)

    def home(self, dialect: str) -> TaskList | None:
        """The list that a dialect works on, None where a named one has not been made yet.

        See docs: protocol, section 5.
        """
        return self._find_list(self.bound_list or own_list(dialect, self.project))

    @property
    def project(self) -> str | None:
        """The project of the channel, None for one outside any."""
        return self.channel.identity.project

    def made_home(self, dialect: str) -> TaskList:
        """The list that a dialect works on, made at first use."""
        found = self.home(dialect)
        if found is not None:
            return found
        if self.bound_list is not None:
            return cast(TaskList, self.run(EnsureList(self.bound_list, dialect)))
        return cast(TaskList, self.run(EnsureList(own_list(dialect, self.project), dialect, self.project)))

    def handle(self, task: Task) -> str:
        """What names a task's list on the channel."""
        return self._list_of(task).handle

    def full(self, task: Task) -> dict[str, Any]:
        """A task with every field (docs: protocol, section 7)."""
        home = self._list_of(task)
        return full_task(task, home.handle, checks.told_of(self.db, task, home))

    def _list_of(self, task: Task) -> TaskList:
        if self.transaction is not None:
            return self.transaction.known.list_by_id(task.list_id)
        return queries.list_by_id(self.db, task.list_id)


class Wait(msgspec.Struct):
    """What a tool returns that waits: the reply is made later.

    `check` is asked again after every change; it returns the result, or None to go on waiting. At `deadline`
    (as `Call.passed`; None: never) `give_up` is run, which returns the result or raises the refusal. At the end of
    input one without a deadline gives up at once.
    """

    check: Callable[[Call], Any]
    give_up: Callable[[Call], Any]
    deadline: int | None
    # What is waited for: the same request, sent again under its key, is called with it as `Call.resumes`.
    subject: str | None = None
    # What is done in place of `give_up` where the asker has gone.
    abandon: Callable[[Call], Any] | None = None


class Tool(msgspec.Struct, frozen=True):
    """One tool: what it is called, what it takes, and what it does."""

    name: str
    description: str
    arguments: type[Arguments]
    handler: Callable[[Call, Any], Any]
    # Whether a call with these arguments writes.
    writes: Callable[[Any], bool]
    # The argument that names the one task the call changes, None where it does not change exactly one.
    subject: Callable[[Any], str | None]
    # Whether there are calls that write, and such that change exactly one named task.
    ever_writes: bool = False
    ever_names_task: bool = False
    # Whether its reply waits for something to happen.
    waits: bool = False
    # The dialect's own form of a refusal (docs: protocol, section 3).
    refusal: Callable[[Refusal], Any] | None = None
    # Whether only the human may call it.
    human: bool = False
    # Whether a paused agent may call it.
    while_paused: bool = False
    # The other tool, and the action of it, that does the same.
    same_as: tuple[str, str] | None = None
    # Whether a call with these arguments may write so much that it is done in steps, between which others write.
    in_steps: Callable[[Any], bool] = lambda _: False
    # What its arguments are called, and those of them that name a task.
    argument_names: frozenset[str] = frozenset()
    task_arguments: tuple[str, ...] = ()


class Table:
    """Tools by their names."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    @property
    def tools(self) -> dict[str, Tool]:
        """All of them."""
        return self._tools

    def find(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self.tools.get(name)

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
    ) -> Callable[[Callable[[Call, A], Any]], Callable[[Call, A], Any]]:
        """Declare a tool; its docstring is the description that agents read.

        `subject` is the name of the argument that holds the uid of the one task that the call changes.
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
                in_steps=in_steps if callable(in_steps) else lambda _: bool(in_steps),
                same_as=same_as,
                argument_names=frozenset(arguments.__struct_fields__),
                task_arguments=task_arguments(arguments),
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
    """What a handler says of itself. `python -OO` drops docstrings, and agents need them: the source has it still."""
    if handler.__doc__ is not None or sys.flags.optimize < 2:
        return handler.__doc__ or ""
    import ast
    import inspect
    import textwrap

    (defined,) = ast.parse(textwrap.dedent(inspect.getsource(handler))).body
    return ast.get_docstring(cast(ast.FunctionDef, defined), clean=False) or ""


def _unwrapped(text: str) -> str:
    """A docstring as running text: one line a paragraph."""
    paragraphs = text.strip().split("\n\n")
    return "\n".join(" ".join(line.strip() for line in paragraph.splitlines()) for paragraph in paragraphs)


class Words:
    """A dialect's words for the six statuses (docs: protocol, section 4)."""

    def __init__(self, shown: Mapping[str, str]) -> None:
        assert set(shown) == set(vocab.STATUSES)
        self.shown = dict(shown)
        self._meant: dict[str, str] = {}
        for status, word in shown.items():
            if word == status or word not in self._meant:
                self._meant[word] = status

    def show(self, status: str) -> str:
        """The word for a status."""
        return self.shown[status]

    def meant(self, word: str, current: str | None = None) -> str:
        """The status that a word means; writing back the word just shown changes nothing."""
        if current is not None and self.shown[current] == word:
            return current
        return self._meant[word]

    def statuses(self, word: str) -> list[str]:
        """Every status that is shown as that word."""
        return [status for status, shown in self.shown.items() if shown == word]


def one_of(argument: str, given: Mapping[str, Any]) -> None:
    """Refuse a call that gives none of the arguments of which it needs at least one.

    Raises:
        InvalidArgument: all of them are absent.
    """
    if all(value is None for value in given.values()):
        raise InvalidArgument(argument, f"at least one of {', '.join(given)} is needed")
