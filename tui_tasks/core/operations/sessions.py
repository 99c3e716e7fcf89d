"""The writes of sessions, and the events that a hook can report.

`hooks.programs` translates a program's payload into these events; `core.rules.agents.session_rules` decides what each
changes.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations import Operation


class SessionEvent(msgspec.Struct, frozen=True):
    """Something that a payload reports about its session."""


class SessionStarted(SessionEvent, frozen=True):
    """The program began, resumed or cleared a session; `source` is the program's word for which."""

    source: str = "startup"


class PromptSubmitted(SessionEvent, frozen=True):
    """A person gave a prompt. `turn` is the program's id of the turn that it begins or continues, if it has ids."""

    text: str
    turn: str | None = None


class Working(SessionEvent, frozen=True):
    """The agent works, although no person has prompted it."""


class ToolStarted(SessionEvent, frozen=True):
    """A tool is about to run; `call` is the program's id of the call, `target` what the tool works on.

    A target is a file, a command or a search; None where the tool's input names none.
    """

    tool: str
    call: str | None = None
    target: str | None = None


class ToolEnded(SessionEvent, frozen=True):
    """A tool ended; `error` is why it failed."""

    tool: str
    call: str | None = None
    error: str | None = None


class ToolsEnded(SessionEvent, frozen=True):
    """No tool of the session itself runs any more."""


class InputRequested(SessionEvent, frozen=True):
    """The agent waits for a person: for a permission, or for the answer to a question.

    Attributes:
        kind: which of the two.
        tool: the tool that needs the permission; None if the program does not name it.
        input: the tool's input, as the program reports it.
        request: the program's id of the request.
        suggestions: what the program offers to allow from now on, as it reports it.
        questions: its questions with their options, as it reports them.
        note: a text for the person.
        is_whole: whether this is all that the program asks, with nothing shortened, redacted or left out.
    """

    kind: Literal["permission", "question"]
    tool: str | None = None
    input: Any = None
    request: str | None = None
    suggestions: Any = None
    questions: tuple[dict[str, Any], ...] = ()
    note: str = ""
    is_whole: bool = True


class InputStillRequested(InputRequested, frozen=True):
    """A reminder that the agent waits, which does not name the request."""


class TurnEnded(SessionEvent, frozen=True):
    """The turn ended; `background` has the ids of subagents that still run, `message` is what the agent wrote last."""

    message: str | None = None
    background: tuple[str, ...] = ()


class WentIdle(SessionEvent, frozen=True):
    """The agent does nothing. `has_finished`: a turn whose end was not reported finished by itself."""

    has_finished: bool = True


class TurnFailed(SessionEvent, frozen=True):
    """The turn ended with an error of the model's service."""

    message: str | None = None


class ModelFailed(SessionEvent, frozen=True):
    """The model's service answered with an error, which may not end the turn: later events show that."""

    message: str | None = None


class TurnInterrupted(SessionEvent, frozen=True):
    """The person ended the turn."""


class SessionEnded(SessionEvent, frozen=True):
    """The session ended."""


class MessageWritten(SessionEvent, frozen=True):
    """The agent wrote a message for the person."""

    text: str


class UsageReported(SessionEvent, frozen=True):
    """Tokens and US dollars: used by the session so far, or with `more` since the last report. None: unknown."""

    tokens: int | None = None
    cost_usd: float | None = None
    more: bool = False


class SubagentStarted(SessionEvent, frozen=True):
    """A subagent started; `session` is its own session id, if it has one."""

    subagent: str
    session: str | None = None


class SubagentEnded(SessionEvent, frozen=True):
    """A subagent ended."""

    subagent: str


class TaskListItem(msgspec.Struct, frozen=True):
    """An item of a program's own task list; None: the field is not reported."""

    key: str
    name: str | None = None
    description: str | None = None
    status: str | None = None


class TaskListReported(SessionEvent, frozen=True):
    """The program's own task list: all of it in order, or with `some` only the items that changed."""

    items: tuple[TaskListItem, ...]
    some: bool = False


class SessionReport(msgspec.Struct, frozen=True):
    """What a payload reports of a session.

    Attributes:
        program: the name of the agent program.
        session: the program's id of the session.
        events: what happened, in order.
        at: when, in microseconds since the epoch.
        process: the program's process.
        cwd: the session's working directory.
        project: the project of that folder.
        model: the name of the model.
        mode: the program's permission mode.
        subagent: the subagent that the report is about; None: the session itself.
        ends_waiting: whether it could not have come while the program still waits for a person.
        hash: the SHA-256 of the payload, in hexadecimal.
        is_unique: whether no other event of the program has the same payload.
        answer: the name under which the payload's hook waits for an answer.
        is_shared: whether the process has several sessions at once.
        transcript: the path of the file in which the program records the session.
        record: how far that file has been read (`hooks.session_records`); None: as far as before.
        is_payload: whether a hook reported it, which is a sign of life; otherwise it was found in the program's
            transcript.
        agent: the agent whose session it is, if we started that and it has not reported its id before.
    """

    program: str
    session: str
    events: tuple[SessionEvent, ...] = ()
    at: int = 0
    process: Process = Process()
    cwd: str | None = None
    project: str | None = None
    model: str | None = None
    mode: str | None = None
    subagent: str | None = None
    ends_waiting: bool = True
    hash: str = ""
    is_unique: bool = False
    answer: str | None = None
    is_shared: bool = False
    transcript: str | None = None
    record: dict[str, Any] | None = None
    is_payload: bool = True
    agent: str | None = None


class RecordReport(Operation, frozen=True):
    """Write what follows from a report. The actor is the session's agent (`core.rules.agents.session_rules.agent_of`).
    Result: None.

    Attributes:
        report: the report.
        name: the name of the payload: one that was processed is not processed again.
        tasks: whether the session's prompts and its own task list become tasks.
    """

    report: SessionReport
    name: str = ""
    tasks: bool = False


class RefuseReport(Operation, frozen=True):
    """Drop a report about another agent's session. The actor is the agent from under whose process it came.

    The journal has that once, however often it is tried. Result: None.

    Attributes:
        program: the program for which the report was made.
        agent: the agent of the session that it named.
        name: the name of the payload.
    """

    program: str
    agent: str
    name: str


class EndSession(Operation, frozen=True):
    """End a session whose process is gone. Result: whether it had not ended before.

    `by`: `process`, or `machine` if the whole machine was not heard of.
    """

    agent: str
    reason: str
    by: Literal["process", "machine"] = "process"


class RestoreSession(Operation, frozen=True):
    """Resume a session that another machine ended although its process runs. Result: whether it had ended."""

    agent: str
