"""`python -m tui_tasks.agent_runs.agent_supervisor`: executes one run of an agent program.

Its life is that of every run (`runner.run_supervisor`).

Its conversation with the program connects a driver, the database and the run's output.

The program's messages become the same operations as reports of its hooks (`core.rules.agents.session_rules`), so that
Agents, inbox and journal make no difference. What the human decides is read from the database and given to the driver.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks import clock
from tui_tasks.agent_runs.claude_driver import ClaudeDriver
from tui_tasks.agent_runs.codex_driver import CodexDriver
from tui_tasks.agent_runs.human_requests import OpenRequests
from tui_tasks.agent_runs.program_protocol import (
    AgentDriver,
    DriverEvent,
    HumanRequest,
    Message,
    MessageReader,
    OutputLine,
    RequestWithdrawn,
    Send,
    ToolHeld,
    TurnFinished,
    limit_reached,
)
from tui_tasks.core.agent_snapshots import HumanMessage, Process
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.asks import DeliverMessages
from tui_tasks.core.operations.jobs import NoteRunAgent
from tui_tasks.core.operations.sessions import SessionEnded, SessionEvent, SessionReport, TurnEnded
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.hooks import intake, redaction
from tui_tasks.hooks.hook_command import SUPERVISED
from tui_tasks.hooks.replies.reply_sender import message_text
from tui_tasks.runner import processes, run_marks, run_supervisor
from tui_tasks.runner.run_process import MAX_REASON, RESULT, RunProcess
from tui_tasks.runner.run_records import CommandSpec, RunEnding
from tui_tasks.runner.runner_settings import AgentSettings
from tui_tasks.runner.supervisor_launch import Assignment
from tui_tasks.settings import config, paths, project
from tui_tasks.settings.config import SessionSettings
from tui_tasks.settings.project import ProjectRefused

_log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
# Seconds for which writing the end of a session is retried.
GIVE_UP_SECONDS: Final = 30.0
_DRIVERS: Final[dict[str, Callable[[AgentSettings, Send], AgentDriver]]] = {
    "claude": ClaudeDriver,
    "codex": CodexDriver,
}


class AgentConversation:
    """The conversation with an agent program; its public methods are those of `runner.run_supervisor.Conversation`."""

    def __init__(self, store: Store, assignment: Assignment, settings: SessionSettings) -> None:
        assert assignment.agent is not None
        self._store = store
        self._assignment = assignment
        self._limits = assignment.agent
        self._keeps_all = settings.keep == "all"
        self._redact = redaction.redactor(settings.redact)
        self._driver: AgentDriver = _DRIVERS[assignment.agent.kind](assignment.agent, self._send)
        self._requests = OpenRequests(store, assignment.agent.wait, self._send_answer)
        self._writer = SessionWriter(store, assignment.run_uid, settings)
        self._reader = MessageReader()
        self._command: RunProcess | None = None
        self._prompt, self._system_prompt, self._cwd = "", "", ""
        # Whether the database may have something new for the program.
        self._has_news = True
        self._retry_at = 0.0
        self._held_tools: list[str] = []
        self._is_paused = False
        # The seq of the last message that was sent to the program.
        self._last_turn: TurnFinished | None = None
        # Whether subagents still ran when the last turn ended.
        self._has_background = False
        self._is_turn_over = False
        # The outcome and reason if the human or a limit of the runner, other than the timeout, stopped the run.
        self._stop_result: tuple[str, str] | None = None
        # When an interrupted turn must have ended, in seconds of the monotonic clock.
        self._interrupt_until = math.inf

    def prepare(self, spec: CommandSpec) -> CommandSpec:
        """See `runner.run_supervisor.Conversation`."""
        self._prompt, self._cwd = spec.text, str(spec.cwd)
        file = spec.environment[run_marks.SYSTEM_PROMPT_FILE]
        self._system_prompt = Path(file).read_text(encoding="utf-8")
        words = self._driver.arguments(file)
        environment = {**spec.environment, SUPERVISED: self._driver.session or self._limits.kind}
        return msgspec.structs.replace(spec, argv=(*spec.argv, *words), environment=environment, text="")

    def begin(self, command: RunProcess) -> None:
        """See `runner.run_supervisor.Conversation`."""
        self._command = command
        self._writer.begin(Process(*processes.identity(command.pid, self._store.db.machine)), self._cwd)
        self._handle_events(self._driver.begin(self._prompt, self._system_prompt, self._cwd))

    def read_output(self, data: bytes) -> bytes:
        """See `runner.run_supervisor.Conversation`."""
        text = ""
        for message in self._reader.feed(data):
            text += f"{message}\n" if isinstance(message, str) else self._handle_events(self._driver.handle(message))
        return self._redacted(text).encode()

    def update(self, *, changed: bool) -> None:
        """See `runner.run_supervisor.Conversation`."""
        now = time.monotonic()
        self._requests.pass_on()
        has_denied = self._requests.deny_late()
        self._has_news |= changed or has_denied
        if now >= self._interrupt_until and self._command is not None:
            self._interrupt_until = math.inf
            self._command.end(self._assignment.grace)
        if now < self._retry_at:
            return
        try:
            self._writer.write()
            if self._has_news:
                self._send_decisions()
                self._has_news = False
        except Refusal as refusal:
            _log.warning(
                "events of the agent of run %s will be stored later: %s", self._assignment.run_uid, refusal.message
            )
            self._retry_at = now + RETRY_SECONDS

    def seconds_to_wait(self) -> float:
        """See `runner.run_supervisor.Conversation`."""
        now = time.monotonic()
        times = [self._interrupt_until - now, self._requests.seconds_to_wait()]
        if self._writer.is_pending or self._has_news:
            times.append(self._retry_at - now)
        return min(times)

    def end(self) -> None:
        """See `runner.run_supervisor.Conversation`."""
        if rest := self._reader.rest():
            self._print(rest)
        if self._last_turn is None and self._command is not None and (words := self._command.last_words.text()):
            # Standard error is shown only if no turn ended; otherwise it is for the program's developers.
            self._print(words.rstrip())
        self._requests.end()
        if self._driver.session is None:
            return  # the program began no session
        session_events: list[SessionEvent] = [SessionEnded()]
        if self._has_background and self._last_turn is not None and self._last_turn.error is None:
            # Subagents end with the program.
            session_events.insert(0, TurnEnded(self._last_turn.result))
        self._writer.add(SessionReport(self._limits.kind, self._driver.session, tuple(session_events), cwd=self._cwd))
        give_up_at = time.monotonic() + GIVE_UP_SECONDS
        while self._writer.is_pending:
            try:
                self._writer.write()
            except Refusal:
                if time.monotonic() >= give_up_at:
                    return  # the next process that finds the program gone ends the session
                time.sleep(RETRY_SECONDS)

    def ending_of(self, plain: RunEnding) -> RunEnding:
        """See `runner.run_supervisor.Conversation`."""
        turn, usage = self._last_turn, self._driver.usage
        result = turn.result if turn is not None else None
        ended = msgspec.structs.replace(
            plain,
            result=None if result is None else self._redacted(result)[-RESULT:],
            turns=usage.turns,
            tokens=usage.tokens,
            cost_usd=usage.cost_usd,
        )
        if self._stop_result is not None:
            outcome, reason = self._stop_result
            return msgspec.structs.replace(ended, outcome=outcome, reason=reason, retry=False)
        if plain.was_ended:
            return ended
        if turn is None:
            reason = plain.reason or "it ended before its turn was over"
            return msgspec.structs.replace(ended, outcome="error", reason=reason)
        if turn.error is not None:
            reason = self._redacted(turn.error).strip().partition("\n")[0][:MAX_REASON]
            return msgspec.structs.replace(ended, outcome="error", reason=reason, retry=not turn.is_capped)
        return msgspec.structs.replace(ended, outcome="success", reason=None)

    # From the program

    def _handle_events(self, events: Iterable[DriverEvent]) -> str:
        """Handle the events of the program; return the text for people."""
        text = ""
        for event in events:
            if isinstance(event, SessionReport):
                self._writer.add(event)
                ended = [one for one in event.events if isinstance(one, TurnEnded)]
                self._has_background = bool(ended[-1].background) if ended else self._has_background
            elif isinstance(event, OutputLine):
                text += event.text + (f": {event.detail}" if event.detail and self._keeps_all else "") + "\n"
            elif isinstance(event, HumanRequest):
                text += self._open_request(event)
            elif isinstance(event, ToolHeld):
                self._held_tools.append(event.id)
                self._has_news = True
            elif isinstance(event, RequestWithdrawn):
                self._requests.withdraw(event.id)
                self._held_tools = [tool for tool in self._held_tools if tool != event.id]
                self._has_news = True
            else:
                self._last_turn, self._is_turn_over = event, not event.goes_on
                self._has_news = True
        return text

    def _open_request(self, request: HumanRequest) -> str:
        try:
            self._writer.add(self._requests.add(request).report)
        except OSError as error:
            self._driver.answer(request.id, None, "No human can be asked. Denied.")
            return f"[no human can be asked: {error.strerror or error}; it was denied]\n"
        self._has_news = True
        what = f"a permission for {request.asked.tool}" if request.asked.kind == "permission" else "a question"
        return f"[waits for an answer: {what}]\n"

    # To the program

    def _send(self, message: Message) -> None:
        assert self._command is not None
        # In ASCII, so that lone surrogates are returned to the program as it sent them.
        self._command.send(json.dumps(message).encode() + b"\n")

    def _send_answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
        self._driver.answer(request_id, decision, words)
        if decision is None:
            self._print(f"[{words}]")
        elif "answer" in decision:
            self._print("[answered]")
        else:
            self._print("[allowed]" if decision["allow"] else "[denied]")

    def _print(self, text: str) -> None:
        """Add a line to the run's output."""
        assert self._command is not None
        self._command.log.feed(self._redacted(f"{text}\n").encode())

    def _redacted(self, text: str) -> str:
        """Return a text without secrets, and with lone surrogates replaced."""
        return self._redact(text).encode(errors="replace").decode()

    def _send_decisions(self) -> None:
        """Send the program what the human decided and wrote, and close its input if no more is to come."""
        if (agent := self._writer.agent) is not None:
            self._hold_or_release(agent)
            self._requests.exchange_answers(agent, clock.now(), is_paused=self._is_paused)
            self._send_messages(agent)
        if self._is_turn_over and self._command is not None and not (self._is_paused and self._stop_result is None):
            self._command.close_input()

    def _hold_or_release(self, agent: str) -> None:
        summary = message_queries.agent(self._store.db, agent)
        is_paused = summary is not None and summary.paused
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            self._print(f"[paused: {self._driver.pause_holds}]" if is_paused else "[resumed]")
        if not is_paused:
            for tool in self._held_tools:
                self._driver.release(tool)
            self._held_tools = []

    def _send_messages(self, agent: str) -> None:
        for message in message_queries.waiting(self._store.db, agent):
            if self._stop_result is not None:
                return  # no turn follows that would read it
            if self._is_turn_over and self._is_paused and not message.ends_turn:
                return
            if self._command is None or not (self._command.takes_input or message.ends_turn):
                return  # the program would not get it: it waits
            if self._is_turn_over and (reason := limit_reached(self._driver.usage, self._limits)) is not None:
                self._stop_result = ("error", reason)
                return
            # The delivery is recorded before the program gets the message: the human cannot take back what it has read.
            if self._store.commit(DeliverMessages(agent, until=message.seq), actor=agent, now=clock.now()):
                self._send_message(message)

    def _send_message(self, message: HumanMessage) -> None:
        words = message.text if self._keeps_all else ""
        if not message.ends_turn:
            self._driver.say(message_text(message))
            self._is_turn_over = False
            self._print(f"[the human wrote: {words}]" if words else "[the human wrote]")
            return
        self._stop_result = ("interrupted", f"its turn was ended by the human: {words}"[:MAX_REASON].rstrip(": "))
        self._print(f"[{self._stop_result[1]}]")
        if not self._is_turn_over:
            self._driver.interrupt()
            self._interrupt_until = time.monotonic() + self._assignment.grace


class SessionWriter:
    """Writes the reports of one session in order. What cannot be written now is written the next time.

    Attributes:
        agent: the name of the session's agent; None until something was written.
    """

    def __init__(self, store: Store, run_uid: str, settings: SessionSettings) -> None:
        self._store = store
        self._run_uid = run_uid
        self._settings = settings
        self._waiting: deque[SessionReport] = deque()
        self._process = Process()
        self._project: str | None = None
        self.agent: str | None = None

    def begin(self, process: Process, cwd: str) -> None:
        """Set the process of the program and its working directory."""
        self._process = process
        try:
            self._project = project.of_folder(Path(cwd))
        except (ProjectRefused, OSError, ValueError):
            self._project = None

    @property
    def is_pending(self) -> bool:
        """Whether there is something to write."""
        return bool(self._waiting)

    def add(self, report: SessionReport) -> None:
        """Queue a report, without what the human has configured not to be kept."""
        report = redaction.stored_form(report)
        events = tuple(map(redaction.bounded, report.events))
        whole = msgspec.structs.replace(
            report, events=events, at=clock.now(), process=self._process, project=self._project
        )
        self._waiting.append(redaction.discreet(whole, self._settings))

    def write(self) -> None:
        """Write the queue, in one transaction.

        Raises:
            StorageFailed: the queue is unchanged.
        """
        if not self._waiting:
            return
        with self._store.transaction(clock.now()) as transaction:
            for report in self._waiting:
                intake.record_report(transaction, "", report, tasks=self._settings.tasks)
            named = session_queries.by_session(transaction.db, report.program, report.session)
            if self.agent is None and named is not None:
                with transaction.change():
                    transaction.speak(SYSTEM)
                    transaction.run(NoteRunAgent(self._run_uid, named[0], report.session))
        self._waiting.clear()
        self.agent = self.agent or (named[0] if named is not None else None)


def converse(store: Store, assignment: Assignment) -> AgentConversation:
    """Return the conversation of a run, with the human's settings as they are now."""
    return AgentConversation(store, assignment, config.load(paths.configuration())[0].sessions)


if __name__ == "__main__":
    run_supervisor.main(converse)
