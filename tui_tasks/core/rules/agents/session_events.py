"""What each event of a report changes: the session's state, its activity, its questions and its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core.operations.sessions import (
    InputRequested,
    InputStillRequested,
    MessageWritten,
    ModelFailed,
    PromptSubmitted,
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
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import SessionActivity
from tui_tasks.core.rules.agents import session_rules, session_tasks

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

MAX_WORDS: Final = 20_000
"""Characters that are kept of a prompt or of an agent's last words."""
MAX_ERROR: Final = 2_000
MAX_TARGET: Final = 300
_REPLACED: Final = "its process has begun another session"


class ReportHandler:
    """Writes what follows from one report of a session."""

    def __init__(self, tx: Transaction, report: SessionReport, *, tasks: bool) -> None:
        self._tx = tx
        self._report = report
        self._agent = tx.actor
        # The prompts of an agent that the human started on a task are about that task.
        self._makes_tasks = tasks and not (tx.state_cache.has_work and work_queries.is_at_work(tx.db, tx.actor))
        # A payload is never later than now, whatever the clock of its hook says.
        self._at = min(report.at or tx.now, tx.now)

    def apply(self) -> None:
        """Write what follows from the payload."""
        self._session = session_queries.find(self._tx.db, self._agent) or session_rules.begin(
            self._tx, self._report, self._at
        )
        self._activity = session_queries.activity(self._tx.db, self._agent) or SessionActivity(self._agent, self._at)
        was = msgspec.json.encode(self._activity)
        if self._report.is_payload:
            session_rules.count_pulse(self._activity, self._at)
            self._activity.stopped_at = None
        if self._report.record is not None:
            self._activity.record = self._report.record
        if self._session.state != session_queries.GONE or self._is_back():
            self._take_id()
            self._learn()
            self._end_others()
            self._end_asks()
            for event in self._report.events:
                is_its_own = self._report.subagent is None or type(event) in _OF_SUBAGENTS_TOO
                if is_its_own and (handler := _HANDLERS.get(type(event))) is not None:
                    handler(self, event)
        if msgspec.json.encode(self._activity) != was:
            session_rules.keep_activity(self._tx, self._activity)

    def _is_back(self) -> bool:
        """Return whether an ended session goes on by this payload, and the payload is not merely late."""
        begins = any(isinstance(event, SessionStarted | PromptSubmitted) for event in self._report.events)
        process = self._report.process
        if not begins and (process.pid == 0 or process == session_queries.process(self._session)):
            return False
        return begins or self._session.ended_by in (session_queries.BY_PROCESS, session_queries.BY_MACHINE)

    def _take_id(self) -> None:
        """Record the program's id of a session that we started."""
        session = self._session
        if self._report.subagent is not None or not session.session.startswith(session_queries.PLACEHOLDER):
            return
        if session.session != self._report.session:
            session_rules.name_session(self._tx, self._report.program, self._report.session, self._agent, "own")
            self._session = session_rules.emit(
                self._tx, "session.started", session, {"session": self._report.session, "state": session.state}
            )

    def _learn(self) -> None:
        """Keep what a payload says beside its event; the next entry writes it."""
        report, news = self._report, self._activity.news
        details: dict[str, Any] = {"project": report.project}
        if report.subagent is None:
            details |= {"cwd": report.cwd, "mode": report.mode, "model": report.model}
        # A hook that outlives its agent cannot find it: what was known of it stands.
        if report.process.pid and (report.process.born or not self._session.born):
            details |= asdict(report.process)
        for name, value in details.items():
            if value is not None and news.get(name, getattr(self._session, name)) != value:
                news[name] = value

    def _end_others(self) -> None:
        """End other sessions of the same process, which has one at a time unless it is shared."""
        process, tx = self._report.process, self._tx
        if not process.pid or self._report.is_shared:
            return
        for other in session_queries.in_process(tx.db, process.pid):
            if (
                other.uid == self._agent
                or other.program != self._report.program
                or session_queries.process(other) != process
            ):
                continue
            session_rules.withdraw_requests(tx, other.uid, _REPLACED)
            activity = session_queries.activity(tx.db, other.uid) or SessionActivity(other.uid, self._at)
            session_rules.end(tx, other, activity, "replaced", self._at)

    def _end_asks(self) -> None:
        """Close the questions that the program has stopped asking, since this payload has come."""
        report, events = self._report, self._report.events
        if not report.ends_waiting:
            return
        key = next((session_rules.key_of(report, event) for event in events if isinstance(event, InputRequested)), None)
        session_rules.close_answered(self._tx, report, key)
        if key != self._activity.request:
            self._activity.request = None

    def _emit(self, kind: str, /, **changes: Any) -> None:
        """Emit an entry with what was learned since the last; none if there is nothing new."""
        activity, session = self._activity, self._session
        details = {**activity.news, **changes}
        activity.news = {}
        is_new = any(getattr(session, name) != value for name, value in details.items())
        # The same request twice is two requests.
        if is_new or kind in ("session.prompted", "session.waiting"):
            self._session = session_rules.emit(self._tx, kind, session, details)

    @property
    def _is_in_turn(self) -> bool:
        return self._session.state in ("working", "waiting")

    def _over(self, kind: str, state: str, message: str | None = None, *, ends_as: str = "done") -> None:
        """End the turn in this state; `ends_as` is the status of the task of its prompt."""
        activity = self._activity
        session_rules.forget_tool(activity)
        activity.busy, activity.failure = False, None
        fields = {} if message is None else {"last_message": _cut(message)}
        if self._session.task is not None:
            session_tasks.end_task(self._tx, self._session.task, ends_as, fields.get("last_message"))
        self._emit(kind, state=state, waiting_for=None, **fields)

    # What each event does

    def session_started(self, event: SessionStarted) -> None:
        """The session is there, and nothing runs."""
        report, session = self._report, self._session
        if session.session != report.session:
            session_rules.name_session(self._tx, report.program, session.session, self._agent, "former")
            session_rules.name_session(self._tx, report.program, report.session, self._agent, "own")
        self._activity.background = []
        if session.state == session_queries.GONE or session.session != report.session:
            session_rules.forget_tool(self._activity)
            self._activity.busy = False
            self._emit("session.started", session=report.session, state="idle", ended_at=None, ended_by=None)
        elif event.source != "compact":
            self._over("session.idle", "idle", ends_as="cancelled")

    def prompt_submitted(self, event: PromptSubmitted) -> None:
        """A person has prompted it."""
        session_rules.forget_tool(self._activity)
        self._activity.busy = False
        self._works()
        words = _cut(event.text)
        details = {"last_prompt": words, "task": self._task_of(event, words), "ended_at": None, "ended_by": None}
        self._activity.turn = event.turn
        if self._session.state == "failed":
            # Why the turn before has failed is no word of the agent.
            details["last_message"] = None
        self._emit("session.prompted", state="working", waiting_for=None, **details)

    def _task_of(self, event: PromptSubmitted, words: str) -> str | None:
        """Return the task of a prompt: a new one, or that of the turn that goes on."""
        task = self._session.task
        goes_on = self._is_in_turn and event.turn is not None and event.turn == self._activity.turn
        if task is not None and goes_on:
            session_tasks.add_words(self._tx, task, words)
            return task
        if task is not None:
            session_tasks.end_task(self._tx, task, "cancelled")
        if not self._makes_tasks:
            return None
        made, self._activity.no_task = session_tasks.begin_task(self._tx, self._project, self._agent, words)
        return made

    @property
    def _project(self) -> str | None:
        project: str | None = self._activity.news.get("project", self._session.project)
        return project

    def working(self, event: Working) -> None:
        """It goes on working by itself."""
        self._activity.busy = not self._is_in_turn
        self._works()

    def _works(self) -> None:
        """Its turn goes on."""
        self._activity.worked_at, self._activity.failure = self._at, None

    def tool_started(self, event: ToolStarted) -> None:
        """A tool of the session has begun."""
        target = None if event.target is None else _cut(event.target, MAX_TARGET)
        session_rules.begin_tool(self._activity, _cut(event.tool), event.call, target, self._at)
        self._activity.busy = not self._is_in_turn
        self._works()

    def tool_ended(self, event: ToolEnded) -> None:
        """A tool has ended."""
        if event.error is not None:
            details = {"tool": _cut(event.tool), "error": _cut(event.error, MAX_ERROR)}
            self._tx.emit("tool.failed", "tool", self._agent, new=details)
        if self._report.subagent is not None:
            return
        self._works()
        if session_rules.is_running(self._activity, _cut(event.tool), event.call):
            self._end_tool()

    def tools_ended(self, event: ToolsEnded) -> None:
        """All tools have ended."""
        if self._activity.tool is not None:
            self._end_tool()

    def _end_tool(self) -> None:
        session_rules.end_tool(self._activity, self._at)
        # A payload that is late, after the turn has ended, is about no running tool.
        self._activity.busy = not self._is_in_turn

    def input_requested(self, event: InputRequested) -> None:
        """It waits for a person."""
        key = session_rules.key_of(self._report, event)
        if key == self._activity.request and not session_rules.is_asked_anew(self._tx, self._report, key):
            return
        self._activity.request = key
        ask = session_rules.open_asked(self._tx, self._report, event, key, self._project)
        if ask.rule is None:
            self._emit("session.waiting", state="waiting", waiting_for=session_queries.waiting_for(ask))

    def input_still_requested(self, event: InputStillRequested) -> None:
        """It waits for a person, for what it has asked before or for something that the payload does not name."""
        if self._activity.request is None:
            self.input_requested(event)

    def turn_ended(self, event: TurnEnded) -> None:
        """Its turn has ended; while subagents run it goes on working."""
        activity = self._activity
        activity.background = list(event.background)
        if not event.background:
            self._over("session.idle", "idle", event.message)
            return
        session_rules.forget_tool(activity)
        activity.busy = True
        if event.message is not None:
            activity.news["last_message"] = _cut(event.message)

    def went_idle(self, event: WentIdle) -> None:
        """It is idle; how its turn ended was reported before, or is not reported at all."""
        activity = self._activity
        is_at_work = activity.busy or activity.tool is not None or self._is_in_turn
        if is_at_work and not activity.background:
            self._over("session.idle", "idle", ends_as="done" if event.has_finished else "cancelled")

    def turn_failed(self, event: TurnFailed) -> None:
        """A request to its model's service has failed."""
        self._over("session.failed", "failed", event.message, ends_as="failed")

    def model_failed(self, event: ModelFailed) -> None:
        """A request to its model's service has failed, and may be tried again."""
        self._activity.failure = _cut(event.message or "")

    def turn_interrupted(self, event: TurnInterrupted) -> None:
        """The person has interrupted its turn; or the turn was ended at a limit, which the question says."""
        from tui_tasks.core.rules import work_limit_rules  # it is built upon this module

        self._activity.background = []
        work = work_queries.of_agent(self._tx.db, self._agent)
        if work is not None and work_limit_rules.is_stopped_at_limit(work):
            self._over("session.idle", "idle")
        else:
            self._over("session.interrupted", "interrupted", ends_as="cancelled")

    def session_ended(self, event: SessionEnded) -> None:
        """The session has ended, by an error if an error ended its turn and nothing could follow."""
        if self._is_in_turn and self._activity.failure is not None:
            self.turn_failed(TurnFailed(self._activity.failure or None))
            has_failed = True
        else:
            has_failed = any(isinstance(one, TurnFailed) for one in self._report.events)
        by = session_queries.BY_ERROR if has_failed else session_queries.BY_REPORT
        session_rules.end(self._tx, self._session, self._activity, by, self._at)
        self._activity = session_queries.activity(self._tx.db, self._agent) or self._activity

    def message_written(self, event: MessageWritten) -> None:
        """It has written something."""
        if event.text.strip():
            self._activity.news["last_message"] = _cut(event.text)

    def task_list_reported(self, event: TaskListReported) -> None:
        """It has changed its own list of tasks."""
        if self._makes_tasks:
            own = session_tasks.OwnList(self._tx, self._project, self._session)
            own.apply(event)
            if own.refused:
                self._activity.no_task = own.refused[0]

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
            session_rules.name_session(self._tx, self._report.program, event.session, self._agent, "subagent")
        if event.subagent not in self._activity.background:
            self._activity.background.append(event.subagent)

    def subagent_ended(self, event: SubagentEnded) -> None:
        """A subagent has ended. The program reports it to the session, which then continues."""
        if event.subagent in self._activity.background:
            self._activity.background.remove(event.subagent)


def _cut(text: str, most: int = MAX_WORDS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


_HANDLERS: Final[dict[type[SessionEvent], Any]] = {
    SessionStarted: ReportHandler.session_started,
    PromptSubmitted: ReportHandler.prompt_submitted,
    Working: ReportHandler.working,
    ToolStarted: ReportHandler.tool_started,
    ToolEnded: ReportHandler.tool_ended,
    ToolsEnded: ReportHandler.tools_ended,
    InputRequested: ReportHandler.input_requested,
    InputStillRequested: ReportHandler.input_still_requested,
    TurnEnded: ReportHandler.turn_ended,
    WentIdle: ReportHandler.went_idle,
    TurnFailed: ReportHandler.turn_failed,
    ModelFailed: ReportHandler.model_failed,
    TurnInterrupted: ReportHandler.turn_interrupted,
    SessionEnded: ReportHandler.session_ended,
    MessageWritten: ReportHandler.message_written,
    TaskListReported: ReportHandler.task_list_reported,
    UsageReported: ReportHandler.usage_reported,
    SubagentStarted: ReportHandler.subagent_started,
    SubagentEnded: ReportHandler.subagent_ended,
}
# Events of subagents that change the session; their other events do not.
_OF_SUBAGENTS_TOO: Final = frozenset(
    {
        SessionStarted,
        ToolEnded,
        InputRequested,
        InputStillRequested,
        UsageReported,
        SubagentStarted,
        SubagentEnded,
    }
)
