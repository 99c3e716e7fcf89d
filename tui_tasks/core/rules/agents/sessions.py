"""Sessions of agent programs: what their hooks' payloads change (docs: protocol, section 10).

The journal has what a person asked for, what the program waits for, and how its turns end. What changes many times a
second (the tool that runs, when the session was last heard) is kept beside the journal, in `activity`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core import names
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.operations.sessions import (
    EndSession,
    InputRequested,
    InputStillRequested,
    MessageWritten,
    ModelFailed,
    PromptSubmitted,
    RecordReport,
    SessionEnded,
    SessionEvent,
    SessionReport,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    TaskListReported,
    ToolEnded,
    ToolsEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnInterrupted,
    UsageReported,
    WentIdle,
    Working,
)
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.rules.agents import session_tasks
from tui_tasks.core.rules.agents.asks import close_ask, open_request
from tui_tasks.core.rules.agents.request_text import request_options, request_text
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.schema.tables.columns import columns
from tui_tasks.core.schema.tables.sessions import ActivityRow, SessionNameRow, TakenInRow
from tui_tasks.core.session_snapshots import AgentSession, SessionActivity

if TYPE_CHECKING:
    from tui_tasks.core.store import Transaction

MAX_WORDS: Final = 20_000
"""Characters that are kept of a prompt or of an agent's last words."""
MAX_ERROR: Final = 2_000
MINUTE: Final = 60_000_000
PULSE_MINUTES: Final = 12
"""For so many minutes it is counted how often a session tells something."""
MOST_TIMES: Final = 20
"""How often it is kept how long a tool took."""
_WENT_ON: Final = "it was answered in the program's own window, or is no longer asked"
_REPLACED: Final = "its process has begun another session"

_ACTIVITY: Final = tuple(columns(ActivityRow))
_DROP_ACTIVITY = Statement(ActivityRow.delete().where(ActivityRow.uid == slot("uid")))
_PUT_ACTIVITY = Statement(ActivityRow.insert({column: slot(name) for name, column in columns(ActivityRow).items()}))
_DROP_NAME = Statement(
    SessionNameRow.delete().where(
        (SessionNameRow.program == slot("program")) & (SessionNameRow.session == slot("session"))
    )
)
_PUT_NAME = Statement(SessionNameRow.insert({column: slot(name) for name, column in columns(SessionNameRow).items()}))
_TAKEN_IN = Statement(TakenInRow.select(TakenInRow.at).where(TakenInRow.name == slot("name")))
_PUT_TAKEN_IN = Statement(TakenInRow.insert({TakenInRow.name: slot("name"), TakenInRow.at: slot("at")}))

# Columns that an entry about a session always has, changed or not.
_ALWAYS: Final = frozenset({"state", "waiting_for", "last_prompt"})

_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="deterministic").encode


def agent_of(tx: Transaction, report: SessionReport) -> str:
    """Return the name under which a session speaks: the one that it has, or the next free one of its program."""
    known = sessions.by_session(tx.db, report.program, report.session)
    if known is not None:
        return known[0]
    if (former := goes_on(tx.db, report)) is not None:
        return former.uid
    number = sessions.last_number(tx.db, report.program) + 1
    # An agent on the control channel may have taken the name.
    while names.has_spoken(tx.db, f"{report.program}-{number}"):
        number += 1
    return f"{report.program}-{number}"


def goes_on(db: Database, report: SessionReport) -> AgentSession | None:
    """Return the session of the same process that goes on under another id, as after a program's `/clear`."""
    if not any(isinstance(event, SessionStarted) and event.source == "clear" for event in report.events):
        return None
    found = [one for one in sessions.of_process(db, report.process.pid) if sessions.process(one) == report.process]
    return found[-1] if found else None


@rule(RecordReport)
def hear(tx: Transaction, op: RecordReport) -> None:
    """Take in one payload."""
    if op.name:
        if tx.db.one(_TAKEN_IN, name=op.name) is not None:
            return
        tx.db.run(_PUT_TAKEN_IN, {"name": op.name, "at": tx.now})
    report = op.report
    known = sessions.by_session(tx.db, report.program, report.session)
    if known is not None and known[1] == "former":
        return
    if known is not None and known[1] == "subagent":
        report = msgspec.structs.replace(report, subagent=report.session)
    _ReportHandler(tx, report, tasks=op.tasks).apply()


@rule(EndSession)
def end_session(tx: Transaction, op: EndSession) -> bool:
    """End a session whose process has died."""
    session = sessions.find(tx.db, op.agent)
    if session is None or session.state == sessions.GONE:
        return False
    activity = sessions.activity(tx.db, op.agent) or SessionActivity(op.agent, session.started_at)
    _withdraw_requests(tx, op.agent, op.reason)
    _end(tx, session, activity, "process", tx.now)
    return True


def _withdraw_requests(tx: Transaction, agent: str, reason: str) -> None:
    """Close what a program has asked in its window. What its agent has asked with our tools may still be read later."""
    for ask in sessions.open_asks_of(tx.db, agent):
        if ask.request is not None:
            close_ask(tx, CloseAsk(ask.uid, "withdrawn", reason))


def _end(tx: Transaction, session: AgentSession, activity: SessionActivity, by: str, at: int) -> None:
    if session.task is not None:
        # Nobody knows whether the process ended by itself.
        session_tasks.end(tx, session.task, "failed" if by == "process" else "cancelled")
    new = {**activity.news, "state": sessions.GONE, "ended_at": at, "ended_by": by}
    _emit(tx, "session.ended", session, new)
    _keep(tx, SessionActivity(session.uid, activity.last_seen, pulse=activity.pulse, record=activity.record))


def _emit(tx: Transaction, kind: str, session: AgentSession, changes: dict[str, Any]) -> AgentSession:
    """Emit an entry about a session with the columns that it changes."""
    new = {name: value for name, value in changes.items() if name in _ALWAYS or getattr(session, name) != value}
    tx.emit(kind, "session", session.uid, old={name: getattr(session, name) for name in new}, new=new)
    return msgspec.structs.replace(session, **new)


def _keep(tx: Transaction, activity: SessionActivity) -> None:
    tx.db.run(_DROP_ACTIVITY, {"uid": activity.uid})
    values = {name: getattr(activity, name) for name in _ACTIVITY}
    values |= {"busy": int(activity.busy)}
    values |= {name: _encode(values[name]).decode() for name in ("background", "news", "tool_times", "pulse", "record")}
    tx.db.run(_PUT_ACTIVITY, values)


def _name(tx: Transaction, program: str, session: str, agent: str, part: str) -> None:
    tx.db.run(_DROP_NAME, {"program": program, "session": session})
    tx.db.run(_PUT_NAME, {"program": program, "session": session, "agent": agent, "part": part})


class _ReportHandler:
    """Writes what follows from one report of a session."""

    def __init__(self, tx: Transaction, report: SessionReport, *, tasks: bool) -> None:
        self._tx = tx
        self._report = report
        self._agent = tx.actor
        self._makes_tasks = tasks
        # A payload is never later than now, whatever the clock of its hook says.
        self._at = min(report.at or tx.now, tx.now)

    def apply(self) -> None:
        """Write what follows from the payload."""
        self._session = sessions.find(self._tx.db, self._agent) or self._begun()
        self._activity = sessions.activity(self._tx.db, self._agent) or SessionActivity(self._agent, self._at)
        was = msgspec.json.encode(self._activity)
        if self._report.is_payload:
            self._beat()
        if self._report.record is not None:
            self._activity.record = self._report.record
        if self._session.state != sessions.GONE or self._is_back():
            self._learn()
            self._end_others()
            self._end_asks()
            for event in self._report.events:
                if (handler := _HANDLERS.get(type(event))) is not None:
                    handler(self, event)
        if msgspec.json.encode(self._activity) != was:
            _keep(self._tx, self._activity)

    def _beat(self) -> None:
        """Count the payload in the minute in which it came."""
        activity, at = self._activity, max(self._activity.last_seen, self._at)
        later = min(at // MINUTE - activity.last_seen // MINUTE, PULSE_MINUTES)
        pulse = [*(activity.pulse or [0]), *[0] * later]
        pulse[-1] += 1
        activity.pulse, activity.last_seen = pulse[-PULSE_MINUTES:], at

    def _begun(self) -> AgentSession:
        """Begin a session that was unknown."""
        report, tx = self._report, self._tx
        session = AgentSession(
            id=tx.state_cache.next_id("session"),
            uid=self._agent,
            program=report.program,
            number=int(self._agent.rpartition("-")[2]),
            session=report.session,
            boot=report.process.boot,
            namespace=report.process.namespace,
            pid=report.process.pid,
            born=report.process.born,
            cwd=report.cwd,
            project=report.project,
            model=report.model,
            mode=report.mode,
            state="idle",
            waiting_for=None,
            last_prompt=None,
            last_message=None,
            task=None,
            tokens=None,
            cost_usd=None,
            started_at=self._at,
            ended_at=None,
            ended_by=None,
        )
        tx.emit("session.started", "session", session.uid, new=asdict(session))
        _name(tx, report.program, report.session, self._agent, "own")
        return session

    def _is_back(self) -> bool:
        """Return whether an ended session goes on by this payload, and the payload is not merely late."""
        begins = any(isinstance(event, SessionStarted | PromptSubmitted) for event in self._report.events)
        process = self._report.process
        if not begins and (process.pid == 0 or process == sessions.process(self._session)):
            return False
        return begins or self._session.ended_by == "process"

    def _learn(self) -> None:
        """Keep what a payload says beside its event; the next entry writes it."""
        report, news = self._report, self._activity.news
        told: dict[str, Any] = {"project": report.project}
        if report.subagent is None:
            told |= {"cwd": report.cwd, "mode": report.mode, "model": report.model}
        if report.process.pid:
            told |= asdict(report.process)
        for name, value in told.items():
            if value is not None and news.get(name, getattr(self._session, name)) != value:
                news[name] = value

    def _end_others(self) -> None:
        """End other sessions of the same process, which has one at a time unless it is shared."""
        process, tx = self._report.process, self._tx
        if not process.pid or self._report.is_shared:
            return
        for other in sessions.in_process(tx.db, process.pid):
            if other.uid == self._agent or other.program != self._report.program or sessions.process(other) != process:
                continue
            _withdraw_requests(tx, other.uid, _REPLACED)
            _end(
                tx,
                other,
                sessions.activity(tx.db, other.uid) or SessionActivity(other.uid, self._at),
                "replaced",
                self._at,
            )

    def _end_asks(self, reason: str = _WENT_ON) -> None:
        """Close the questions that the program has stopped asking, since this payload has come."""
        report, events = self._report, self._report.events
        if not report.ends_waiting:
            return
        key = next((self._key(event) for event in events if isinstance(event, InputRequested)), None)
        # While a program asks at its terminal, nobody can prompt it there or end its turn.
        ends_all = any(isinstance(event, PromptSubmitted | TurnInterrupted | SessionEnded) for event in events)
        for ask in sessions.open_asks_of(self._tx.db, self._agent):
            request = ask.request
            # What a subagent does does not answer what the session or another subagent asks.
            is_of_it = request is not None and (ends_all or request["subagent"] == report.subagent)
            if is_of_it and request is not None and request["key"] != key:
                close_ask(self._tx, CloseAsk(ask.uid, "withdrawn", reason))
        if key != self._activity.request:
            self._activity.request = None

    def _key(self, asked: InputRequested) -> str:
        """Return what tells one request from another."""
        what = [self._report.subagent, asked.kind, asked.tool, asked.input, asked.questions]
        return asked.request or hashlib.sha256(_canonical(what)).hexdigest()

    def _tell(self, kind: str, /, **changes: Any) -> None:
        """Emit an entry with what was learned since the last; none if there is nothing new."""
        activity, session = self._activity, self._session
        told = {**activity.news, **changes}
        activity.news = {}
        is_new = any(getattr(session, name) != value for name, value in told.items())
        # The same request twice is two requests.
        if is_new or kind in ("session.prompted", "session.waiting"):
            self._session = _emit(self._tx, kind, session, told)

    @property
    def _is_in_turn(self) -> bool:
        return self._session.state in ("working", "waiting")

    def _over(self, kind: str, state: str, message: str | None = None, *, ends_as: str = "done") -> None:
        """End the turn in this state; `ends_as` is the status of the task of its prompt."""
        activity = self._activity
        activity.busy, activity.tool, activity.tool_since, activity.call = False, None, None, None
        activity.failure = None
        said = {} if message is None else {"last_message": _cut(message)}
        if self._session.task is not None:
            session_tasks.end(self._tx, self._session.task, ends_as, said.get("last_message"))
        self._tell(kind, state=state, waiting_for=None, **said)

    # What each event does

    def session_started(self, event: SessionStarted) -> None:
        """The session is there, and nothing runs."""
        report, session = self._report, self._session
        if session.session != report.session:
            _name(self._tx, report.program, session.session, self._agent, "former")
            _name(self._tx, report.program, report.session, self._agent, "own")
        self._activity.background = []
        if session.state == sessions.GONE or session.session != report.session:
            self._over_by_start()
        elif event.source != "compact":
            self._over("session.idle", "idle", ends_as="cancelled")

    def _over_by_start(self) -> None:
        activity = self._activity
        activity.busy, activity.tool, activity.tool_since, activity.call = False, None, None, None
        self._tell("session.started", session=self._report.session, state="idle", ended_at=None, ended_by=None)

    def prompt_submitted(self, event: PromptSubmitted) -> None:
        """A person has prompted it."""
        if self._report.subagent is not None:
            return
        activity = self._activity
        activity.tool = activity.tool_since = activity.call = None
        activity.busy = False
        self._works()
        words = _cut(event.text)
        told = {"last_prompt": words, "task": self._task_of(event, words), "ended_at": None, "ended_by": None}
        activity.turn = event.turn
        self._tell("session.prompted", state="working", waiting_for=None, **told)

    def _task_of(self, event: PromptSubmitted, words: str) -> str | None:
        """Return the task of a prompt: a new one, or that of the turn that goes on."""
        task = self._session.task
        goes_on = self._is_in_turn and event.turn is not None and event.turn == self._activity.turn
        if task is not None and goes_on:
            session_tasks.add_words(self._tx, task, words)
            return task
        if task is not None:
            session_tasks.end(self._tx, task, "cancelled")
        return session_tasks.begin(self._tx, self._project, self._agent, words) if self._makes_tasks else None

    @property
    def _project(self) -> str | None:
        project: str | None = self._activity.news.get("project", self._session.project)
        return project

    def working(self, event: Working) -> None:
        """It goes on working by itself."""
        if self._report.subagent is None:
            self._activity.busy = not self._is_in_turn
            self._works()

    def _works(self) -> None:
        """Its turn goes on."""
        self._activity.worked_at, self._activity.failure = self._at, None

    def tool_started(self, event: ToolStarted) -> None:
        """A tool of the session, or of a subagent, has begun."""
        if self._report.subagent is not None:
            return
        activity = self._activity
        activity.tool, activity.tool_since, activity.call = _cut(event.tool), self._at, event.call
        activity.busy = not self._is_in_turn
        self._works()

    def tool_ended(self, event: ToolEnded) -> None:
        """A tool has ended."""
        activity = self._activity
        if event.error is not None:
            told = {"tool": _cut(event.tool), "error": _cut(event.error, MAX_ERROR)}
            self._tx.emit("tool.failed", "tool", self._agent, new=told)
        if self._report.subagent is not None:
            return
        self._works()
        is_it = event.call == activity.call if event.call and activity.call else _cut(event.tool) == activity.tool
        if is_it and activity.tool is not None:
            self._end_tool()

    def tools_ended(self, event: ToolsEnded) -> None:
        """All tools have ended."""
        if self._report.subagent is None and self._activity.tool is not None:
            self._end_tool()

    def _end_tool(self) -> None:
        activity = self._activity
        if activity.tool is not None and activity.tool_since is not None:
            times = [*activity.tool_times.get(activity.tool, []), max(0, self._at - activity.tool_since)]
            activity.tool_times = {**activity.tool_times, activity.tool: times[-MOST_TIMES:]}
        activity.tool = activity.tool_since = activity.call = None
        # A payload that is late, after the turn has ended, is about no running tool.
        activity.busy = not self._is_in_turn

    def input_requested(self, event: InputRequested) -> None:
        """It waits for a person."""
        key = self._key(event)
        if key == self._activity.request:
            return
        self._activity.request = key
        request = {
            "program": self._report.program,
            "session": self._report.session,
            "kind": event.kind,
            "tool": event.tool,
            "input": event.input,
            "cwd": self._report.cwd,
            "suggestions": event.suggestions,
            "questions": event.questions,
            "id": event.request,
            "hash": self._report.hash,
            "answer": self._report.answer,
            "key": key,
            "subagent": self._report.subagent,
        }
        ask = open_request(self._tx, request, request_text(event), request_options(event))
        self._tell("session.waiting", state="waiting", waiting_for=sessions.waiting_for(ask))

    def input_still_requested(self, event: InputStillRequested) -> None:
        """It waits for a person, for what it has asked before or for something that the payload does not name."""
        if self._activity.request is None:
            self.input_requested(event)

    def turn_ended(self, event: TurnEnded) -> None:
        """Its turn has ended; while subagents run it goes on working."""
        if self._report.subagent is not None:
            return
        activity = self._activity
        activity.background = list(event.background)
        if not event.background:
            self._over("session.idle", "idle", event.message)
            return
        activity.tool = activity.tool_since = activity.call = None
        activity.busy = True
        if event.message is not None:
            activity.news["last_message"] = _cut(event.message)

    def went_idle(self, event: WentIdle) -> None:
        """It is idle; how its turn ended was reported before, or is not reported at all."""
        activity = self._activity
        is_at_work = activity.busy or activity.tool is not None or self._is_in_turn
        if self._report.subagent is None and is_at_work and not activity.background:
            self._over("session.idle", "idle", ends_as="done" if event.has_finished else "cancelled")

    def turn_failed(self, event: TurnFailed) -> None:
        """A request to its model's service has failed."""
        if self._report.subagent is None:
            self._over("session.failed", "failed", event.message, ends_as="failed")

    def model_failed(self, event: ModelFailed) -> None:
        """A request to its model's service has failed, and may be tried again."""
        if self._report.subagent is None:
            self._activity.failure = _cut(event.message or "")

    def turn_interrupted(self, event: TurnInterrupted) -> None:
        """The person has interrupted its turn."""
        if self._report.subagent is None:
            self._activity.background = []
            self._over("session.interrupted", "interrupted", ends_as="cancelled")

    def session_ended(self, event: SessionEnded) -> None:
        """The session has ended, by an error if an error ended its turn and nothing could follow."""
        if self._report.subagent is None:
            if self._is_in_turn and self._activity.failure is not None:
                self.turn_failed(TurnFailed(self._activity.failure or None))
                has_failed = True
            else:
                has_failed = any(isinstance(one, TurnFailed) for one in self._report.events)
            by = sessions.BY_ERROR if has_failed else "told"
            _end(self._tx, self._session, self._activity, by, self._at)
            self._activity = sessions.activity(self._tx.db, self._agent) or self._activity

    def message_written(self, event: MessageWritten) -> None:
        """It has written something."""
        if self._report.subagent is None and event.text.strip():
            self._activity.news["last_message"] = _cut(event.text)

    def task_list_reported(self, event: TaskListReported) -> None:
        """It has changed its own list of tasks."""
        if self._makes_tasks and self._report.subagent is None:
            session_tasks.OwnList(self._tx, self._project, self._session).take(event)

    def usage_reported(self, event: UsageReported) -> None:
        """It has spent tokens or money."""
        news = self._activity.news
        for name in ("tokens", "cost_usd"):
            amount = getattr(event, name)
            if amount is None:
                continue
            before = news.get(name, getattr(self._session, name)) if event.more else None
            news[name] = amount + (before or 0)

    def subagent_started(self, event: SubagentStarted) -> None:
        """A subagent has begun."""
        if event.session is not None:
            _name(self._tx, self._report.program, event.session, self._agent, "subagent")
        if event.subagent not in self._activity.background:
            self._activity.background.append(event.subagent)

    def subagent_ended(self, event: SubagentEnded) -> None:
        """A subagent has ended; the program tells the session, which goes on by that."""
        if event.subagent in self._activity.background:
            self._activity.background.remove(event.subagent)


def _cut(text: str, most: int = MAX_WORDS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


_HANDLERS: Final[dict[type[SessionEvent], Any]] = {
    SessionStarted: _ReportHandler.session_started,
    PromptSubmitted: _ReportHandler.prompt_submitted,
    Working: _ReportHandler.working,
    ToolStarted: _ReportHandler.tool_started,
    ToolEnded: _ReportHandler.tool_ended,
    ToolsEnded: _ReportHandler.tools_ended,
    InputRequested: _ReportHandler.input_requested,
    InputStillRequested: _ReportHandler.input_still_requested,
    TurnEnded: _ReportHandler.turn_ended,
    WentIdle: _ReportHandler.went_idle,
    TurnFailed: _ReportHandler.turn_failed,
    ModelFailed: _ReportHandler.model_failed,
    TurnInterrupted: _ReportHandler.turn_interrupted,
    SessionEnded: _ReportHandler.session_ended,
    MessageWritten: _ReportHandler.message_written,
    TaskListReported: _ReportHandler.task_list_reported,
    UsageReported: _ReportHandler.usage_reported,
    SubagentStarted: _ReportHandler.subagent_started,
    SubagentEnded: _ReportHandler.subagent_ended,
}
