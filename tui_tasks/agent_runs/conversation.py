"""One run's conversation with its agent program: between a driver, the database and the run's output.

What the program tells becomes the operations that its hooks would bring about (`core.rules.agents.sessions`), so that
fleet, inbox and journal know no difference. What the human says is read from the database and given to the driver.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks import clock
from tui_tasks.agent_runs.claude import ClaudeDriver
from tui_tasks.agent_runs.codex import CodexDriver
from tui_tasks.agent_runs.driver import (
    Driver,
    Event,
    Line,
    Message,
    Request,
    Send,
    ToolWaits,
    TurnOver,
    Withdrawn,
    limit_reached,
)
from tui_tasks.agent_runs.framing import MessageReader
from tui_tasks.agent_runs.requests import OpenRequests
from tui_tasks.agent_runs.session_writer import SessionWriter
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.asks import DeliverMessages
from tui_tasks.core.operations.sessions import Ended, Fact, Heard, Process, TurnEnded
from tui_tasks.core.read import messages
from tui_tasks.core.snapshots import HumanMessage
from tui_tasks.core.store import Store
from tui_tasks.hooks import discretion
from tui_tasks.hooks.main import SUPERVISED
from tui_tasks.hooks.replies.outbox import message_text
from tui_tasks.runner.assignment import Assignment
from tui_tasks.runner.process import processes, run_context
from tui_tasks.runner.process.command import Command
from tui_tasks.runner.process.output import MAX_LINE, RESULT
from tui_tasks.runner.profiles import AgentSettings
from tui_tasks.runner.records import Ending, Prepared
from tui_tasks.settings.config import SessionSettings

_log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
# Seconds for which the end of a session is tried to be written.
GIVE_UP_SECONDS: Final = 30.0
_DRIVERS: Final[dict[str, Callable[[AgentSettings, Send], Driver]]] = {"claude": ClaudeDriver, "codex": CodexDriver}


class AgentConversation:
    """See `runner.conversation.Conversation`. Each method that others call is of that protocol."""

    def __init__(self, store: Store, assignment: Assignment, settings: SessionSettings) -> None:
        assert assignment.agent is not None
        self._store = store
        self._assignment = assignment
        self._limits = assignment.agent
        self._keeps_all = settings.keep == "all"
        self._redact = discretion.redactor(settings.redact)
        self._driver: Driver = _DRIVERS[assignment.agent.kind](assignment.agent, self._send)
        self._requests = OpenRequests(store, assignment.agent.wait, self._answer)
        self._writer = SessionWriter(store, assignment.run_uid, settings)
        self._reader = MessageReader()
        self._command: Command | None = None
        self._prompt, self._system_prompt, self._cwd = "", "", ""
        # Whether something may have been committed that the program is to be told.
        self._must_look = True
        self._retry_at = 0.0
        self._held_tools: list[str] = []
        self._is_paused = False
        # The seq of the last message that the program was given.
        self._said_until = 0
        self._last_turn: TurnOver | None = None
        # Whether subagents went on when the last turn was over.
        self._has_background = False
        self._is_turn_over = False
        # Why the run goes no further, where that is neither its own end nor a limit of its time.
        self._stopped_as: tuple[str, str] | None = None
        # Seconds of the monotonic clock, until when a turn that is interrupted may take to end.
        self._interrupt_until = math.inf

    def prepare(self, wanted: Prepared) -> Prepared:
        """See `runner.conversation.Conversation`."""
        self._prompt, self._cwd = wanted.text, str(wanted.cwd)
        file = wanted.environment[run_context.SYSTEM_PROMPT_FILE]
        self._system_prompt = Path(file).read_text(encoding="utf-8")
        words = self._driver.arguments(file)
        environment = {**wanted.environment, SUPERVISED: self._driver.session or self._limits.kind}
        return msgspec.structs.replace(wanted, argv=(*wanted.argv, *words), environment=environment, text="")

    def begin(self, command: Command) -> None:
        """See `runner.conversation.Conversation`."""
        self._command = command
        self._writer.begin(Process(*processes.identity(command.pid)), self._cwd)
        self._take(self._driver.begin(self._prompt, self._system_prompt, self._cwd))

    def received(self, data: bytes) -> bytes:
        """See `runner.conversation.Conversation`."""
        text = ""
        for message in self._reader.feed(data):
            text += f"{message}\n" if isinstance(message, str) else self._take(self._driver.received(message))
        return self._readable(text).encode()

    def look(self, *, changed: bool) -> None:
        """See `runner.conversation.Conversation`."""
        now = time.monotonic()
        has_denied = self._requests.deny_late()
        self._must_look |= changed or has_denied
        if now >= self._interrupt_until and self._command is not None:
            self._interrupt_until = math.inf
            self._command.end(self._assignment.grace)
        if now < self._retry_at:
            return
        try:
            self._writer.write()
            if self._must_look:
                self._look()
                self._must_look = False
        except Refusal as refusal:
            _log.warning("what the agent of run %s told is kept later: %s", self._assignment.run_uid, refusal.message)
            self._retry_at = now + RETRY_SECONDS

    def seconds_to_wait(self) -> float:
        """See `runner.conversation.Conversation`."""
        now = time.monotonic()
        times = [self._interrupt_until - now, self._requests.seconds_to_wait()]
        if self._writer.is_pending or self._must_look:
            times.append(self._retry_at - now)
        return min(times)

    def end(self) -> None:
        """See `runner.conversation.Conversation`."""
        if rest := self._reader.rest():
            self._print(rest)
        if self._last_turn is None and self._command is not None and (words := self._command.last_words.text()):
            # What a program writes there while all goes well is for its own developers.
            self._print(words.rstrip())
        self._requests.end()
        if self._driver.session is None:
            return  # it has never begun one
        facts: list[Fact] = [Ended()]
        if self._has_background and self._last_turn is not None and self._last_turn.error is None:
            # Nothing works on when the program is gone.
            facts.insert(0, TurnEnded(self._last_turn.result))
        self._writer.add(Heard(self._limits.kind, self._driver.session, tuple(facts), cwd=self._cwd))
        give_up_at = time.monotonic() + GIVE_UP_SECONDS
        while self._writer.is_pending:
            try:
                self._writer.write()
            except Refusal:
                if time.monotonic() >= give_up_at:
                    return  # whoever finds the process gone ends the session
                time.sleep(RETRY_SECONDS)

    def ending(self, plain: Ending) -> Ending:
        """See `runner.conversation.Conversation`."""
        turn, used = self._last_turn, self._driver.used
        said = turn.result if turn is not None else None
        ended = msgspec.structs.replace(
            plain,
            result=None if said is None else self._readable(said)[-RESULT:],
            turns=used.turns,
            tokens=used.tokens,
            cost_usd=used.cost_usd,
        )
        if self._stopped_as is not None:
            outcome, reason = self._stopped_as
            return msgspec.structs.replace(ended, outcome=outcome, reason=reason, retry=False)
        if plain.was_ended:
            return ended
        if turn is None:
            reason = plain.reason or "it ended before its turn was over"
            return msgspec.structs.replace(ended, outcome="error", reason=reason)
        if turn.error is not None:
            reason = self._readable(turn.error).strip().partition("\n")[0][:MAX_LINE]
            return msgspec.structs.replace(ended, outcome="error", reason=reason, retry=not turn.is_capped)
        return msgspec.structs.replace(ended, outcome="success", reason=None)

    # From the program

    def _take(self, events: Iterable[Event]) -> str:
        """Take in what the program tells; return what of it people are to read."""
        text = ""
        for event in events:
            if isinstance(event, Heard):
                self._writer.add(event)
                ended = [fact for fact in event.facts if isinstance(fact, TurnEnded)]
                self._has_background = bool(ended[-1].background) if ended else self._has_background
            elif isinstance(event, Line):
                text += self._format(event)
            elif isinstance(event, Request):
                text += self._open(event)
            elif isinstance(event, ToolWaits):
                self._held_tools.append(event.id)
                self._must_look = True
            elif isinstance(event, Withdrawn):
                self._requests.withdrawn(event.id)
                self._held_tools = [tool for tool in self._held_tools if tool != event.id]
                self._must_look = True
            else:
                self._last_turn, self._is_turn_over = event, not event.goes_on
                self._must_look = True
        return text

    def _format(self, line: Line) -> str:
        detail = f": {line.detail}" if line.detail and self._keeps_all else ""
        return f"{line.text}{detail}\n"

    def _open(self, request: Request) -> str:
        try:
            self._writer.add(self._requests.opened(request).heard)
        except OSError as error:
            self._driver.answer(request.id, None, "Nobody can be asked, so this is denied.")
            return f"[nobody can be asked: {error.strerror or error}; it was denied]\n"
        self._must_look = True
        what = f"a permission for {request.asked.tool}" if request.asked.kind == "permission" else "a question"
        return f"[waits for an answer: {what}]\n"

    # To the program

    def _send(self, message: Message) -> None:
        assert self._command is not None
        # In ASCII, so that what the program has cut in half is given back as it came.
        self._command.send(json.dumps(message).encode() + b"\n")

    def _answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
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
        self._command.log.feed(self._readable(f"{text}\n").encode())

    def _readable(self, text: str) -> str:
        """Return a text without keys and tokens, and without half characters."""
        return self._redact(text).encode(errors="replace").decode()

    def _look(self) -> None:
        """Tell the program what the human has said, and end its input where nothing more is to come."""
        if (agent := self._writer.agent) is not None:
            self._hold_or_release(agent)
            self._requests.look(agent, clock.now(), is_paused=self._is_paused)
            self._give_messages(agent)
        if self._is_turn_over and self._command is not None and not (self._is_paused and self._stopped_as is None):
            self._command.close_input()

    def _hold_or_release(self, agent: str) -> None:
        found = messages.agent(self._store.db, agent)
        is_paused = found is not None and found.paused
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            self._print(f"[paused: {self._driver.pause_holds}]" if is_paused else "[goes on]")
        if not is_paused:
            for tool in self._held_tools:
                self._driver.release(tool)
            self._held_tools = []

    def _give_messages(self, agent: str) -> None:
        for message in messages.waiting(self._store.db, agent):
            if message.seq > self._said_until:
                if self._stopped_as is not None:
                    return  # no turn follows that could read it
                if self._is_turn_over and self._is_paused and not message.ends_turn:
                    return
                if self._is_turn_over and (reason := limit_reached(self._driver.used, self._limits)) is not None:
                    self._stopped_as = ("error", reason)
                    return
                self._give(message)
                self._said_until = message.seq
            self._store.commit(DeliverMessages(agent, until=message.seq), actor=agent, now=clock.now())

    def _give(self, message: HumanMessage) -> None:
        words = message.text if self._keeps_all else ""
        if not message.ends_turn:
            self._driver.say(message_text(message))
            self._is_turn_over = False
            self._print(f"[the human wrote: {words}]" if words else "[the human wrote]")
            return
        self._stopped_as = ("interrupted", f"its turn was ended by the human: {words}"[:MAX_LINE].rstrip(": "))
        self._print(f"[{self._stopped_as[1]}]")
        if not self._is_turn_over:
            self._driver.interrupt()
            self._interrupt_until = time.monotonic() + self._assignment.grace
