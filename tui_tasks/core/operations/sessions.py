"""The writes of sessions, and what a hook can tell, as frozen values beside those of `operations`.

`hooks.programs` says in these words what a payload says in its program's; `rules.sessions` decides what they become.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tui_tasks.core.operations.operation import Operation


class Fact(msgspec.Struct, frozen=True):
    """Something that a payload tells of its session."""


class Started(Fact, frozen=True):
    """The program began, resumed or cleared a session; `source` is its word for which."""

    source: str = "startup"


class Prompted(Fact, frozen=True):
    """A person asked for something. Within a turn that goes on, `turn` is that turn's id."""

    text: str
    turn: str | None = None


class Busy(Fact, frozen=True):
    """It works, though no person has prompted it."""


class ToolBegan(Fact, frozen=True):
    """A tool is about to run; `call` is the program's own id of the call."""

    tool: str
    call: str | None = None


class ToolEnded(Fact, frozen=True):
    """A tool is over; `error` says why it failed."""

    tool: str
    call: str | None = None
    error: str | None = None


class ToolsEnded(Fact, frozen=True):
    """No tool of the session itself runs any more."""


class Asked(Fact, frozen=True):
    """It waits for a person: for a permission, or for the answer to a question.

    `tool` is None where the program does not name it. `request` is the program's own id of the request, `input` and
    `suggestions` are as it gave them, `questions` its questions with their options.
    """

    kind: Literal["permission", "question"]
    tool: str | None = None
    input: Any = None
    request: str | None = None
    suggestions: Any = None
    questions: tuple[dict[str, Any], ...] = ()
    note: str = ""


class StillAsking(Asked, frozen=True):
    """It reminds the person of what it waits for, without saying which request it is."""


class TurnEnded(Fact, frozen=True):
    """Its turn is over; `background` are the subagents that go on."""

    message: str | None = None
    background: tuple[str, ...] = ()


class Rested(Fact, frozen=True):
    """It does nothing; `has_finished`: where its turn was not told to be over, that has come to its end by itself."""

    has_finished: bool = True


class TurnFailed(Fact, frozen=True):
    """Its turn was ended by an error of its model's service."""

    message: str | None = None


class Faltered(Fact, frozen=True):
    """Its model's service has answered with an error; whether its turn ends by that, what comes next tells."""

    message: str | None = None


class Interrupted(Fact, frozen=True):
    """The person ended its turn."""


class Ended(Fact, frozen=True):
    """The session is over."""


class Said(Fact, frozen=True):
    """It wrote something for the person to read."""

    text: str


class Spent(Fact, frozen=True):
    """Tokens and dollars: of the session so far, or with `more` to be added to it. None: unknown."""

    tokens: int | None = None
    cost_usd: float | None = None
    more: bool = False


class SubagentBegan(Fact, frozen=True):
    """A subagent has begun; `session` where it has a session id of its own."""

    subagent: str
    session: str | None = None


class SubagentEnded(Fact, frozen=True):
    """A subagent is done."""

    subagent: str


class Item(msgspec.Struct, frozen=True):
    """One item of a program's own list of tasks; a field that is None is not told."""

    key: str
    name: str | None = None
    description: str | None = None
    status: str | None = None


class Listed(Fact, frozen=True):
    """The program's own list: all of it in order, or with `some` those items of it that have changed."""

    items: tuple[Item, ...]
    some: bool = False


class Process(msgspec.Struct, frozen=True):
    """The process of an agent program, as `runner.processes.ProcessIdentity`; pid 0: unknown."""

    boot: str = ""
    namespace: str = ""
    pid: int = 0
    born: str = ""


class Heard(msgspec.Struct, frozen=True):
    """What a payload tells: of which session, when (microseconds), from which process, and what.

    `subagent` names the subagent that it is about, where it is not the session itself. `ends_waiting`: it would not
    have come as long as the program waits for a person.
    """

    program: str
    session: str
    facts: tuple[Fact, ...] = ()
    at: int = 0
    process: Process = Process()
    cwd: str | None = None
    project: str | None = None
    model: str | None = None
    mode: str | None = None
    subagent: str | None = None
    ends_waiting: bool = True
    hash: str = ""
    """Of the payload, hexadecimal."""
    answer: str | None = None
    """The name under which its hook waits to be answered."""
    is_shared: bool = False
    """Whether its process has several sessions at once."""
    transcript: str | None = None
    """The path of the file in which the program records the session."""
    record: dict[str, Any] | None = None
    """How far that file was read with this (`hooks.records`); None: as far as before."""
    is_payload: bool = True
    """Whether a hook told it, which is a sign of life; otherwise it was found in the program's records."""


class HearSession(Operation, frozen=True):
    """Take in what a hook tells. The speaker is the session's agent (`rules.sessions.agent_of`). Result: None."""

    heard: Heard
    name: str = ""
    """Of the payload: what was taken in under that name is not taken in again."""
    tasks: bool = False
    """Whether its prompts and its own list become tasks."""


class EndSession(Operation, frozen=True):
    """End a session whose process is no more. Result: whether it had not ended before."""

    agent: str
    reason: str
