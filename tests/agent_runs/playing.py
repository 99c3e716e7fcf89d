"""Playing what an agent program was recorded to say to a conversation, in this process, with a human who answers.

A recording has the lines of both sides in order: `out` is what the program wrote, `in` what it was told, null that its
input was closed. What was recorded `in` must be said before the next line `out` comes; nothing else may be said.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.runner.hosting import Host
from tests.started import DEADLINE
from tui_tasks import clock
from tui_tasks.agent_runs.agent_supervisor import AgentConversation
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.asks import AnswerAsk, SendMessage
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output
from tui_tasks.runner import run_marks
from tui_tasks.runner.run_process import LAST_WORDS, OutputLog, StreamTail
from tui_tasks.runner.run_records import CommandSpec, RunEnding
from tui_tasks.runner.runner_settings import AgentSettings
from tui_tasks.runner.supervisor_launch import Assignment
from tui_tasks.settings.config import SessionSettings

RECORDED = Path(__file__).parent / "recorded"
_MESSAGE_AT = re.compile(r"wrote at \S+:")


class Program:
    """Stands in the place of the command that a supervisor has started."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.log = OutputLog()
        self.last_words = StreamTail(LAST_WORDS)
        self.said: list[Any] = []
        self.was_ended = False

    @property
    def takes_input(self) -> bool:
        return None not in self.said

    def send(self, data: bytes) -> None:
        self.said += [json.loads(line) for line in data.splitlines()]

    def close_input(self) -> None:
        if None not in self.said:
            self.said.append(None)

    def end(self, grace: float) -> None:
        self.was_ended = True


class Play:
    """A run's conversation with a program, line by line."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        settings: SessionSettings | None = None,
        kind: str = "claude",
        **agent: Any,
    ) -> None:
        self.store = store
        self.host = Host(store)
        self.run = self.host.start("agent")
        self.folder = folder
        self.program = Program()
        assignment = Assignment(
            database=str(store.path),
            run_uid=self.run.uid,
            token="",
            command=(kind,),
            cwd=str(folder),
            environment={},
            timeout=DEADLINE,
            grace=1,
            agent=AgentSettings(kind=kind, **agent),
        )
        self.talk = AgentConversation(store, assignment, settings or SessionSettings())
        prompt = folder / "system-prompt.txt"
        prompt.write_text("be brief")
        environment = {run_marks.SYSTEM_PROMPT_FILE: str(prompt)}
        self.started = self.talk.prepare(CommandSpec((kind,), folder, environment, "do it"))
        self.talk.begin(self.program)
        self.look()

    def look(self) -> None:
        self.talk.update(changed=True)

    def hear(self, *lines: Any) -> None:
        """Let the program write lines."""
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self.program.log.feed(self.talk.read_output(data))
        self.look()

    def play(self, name: str, human: Callable[["Play"], None] = lambda play: None) -> "Play":
        """Play a recording; `human` is called after each line of the program."""
        for line in (RECORDED / f"{name}.jsonl").read_text().splitlines():
            ((side, value),) = json.loads(self._filled(line)).items()
            if side == "out":
                self.hear(value)
                human(self)
                self.look()
            else:
                self._expect(value)
        assert self.program.said == []
        return self

    def _filled(self, line: str) -> str:
        return line.replace("@SESSION@", self.talk._driver.session or "").replace("@CWD@", str(self.folder))

    def _expect(self, spec: Any) -> None:
        at = next((at for at, one in enumerate(self.program.said) if _alike(one, spec)), None)
        assert at is not None, (spec, self.program.said)
        said = self.program.said.pop(at)
        if isinstance(said, dict) and said.get("type") == "control_request":
            self.hear(
                {"type": "control_response", "response": {"subtype": "success", "request_id": said["request_id"]}}
            )

    @property
    def agent(self) -> str:
        """The name under which the session speaks."""
        return f"{self.started.argv[0]}-1"

    @property
    def asks(self) -> list[Ask]:
        return session_queries.open_asks_of(self.store.db, self.agent)

    @property
    def seen(self) -> session_queries.Seen:
        found = session_queries.seen(self.store.db, self.agent)
        assert found is not None
        return found

    def answer(self, ask: Ask, answer: str) -> None:
        """The human answers; a screen has shown the request whole."""
        shown = str((ask.request or {})["hash"])
        self.store.commit(AnswerAsk(ask.uid, answer, shown=shown), actor="human", now=clock.now())

    def write(self, text: str, *, ends_turn: bool = False) -> None:
        self.store.commit(SendMessage(self.agent, text, ends_turn), actor="human", now=clock.now())

    def output(self) -> str:
        """What people read of the run."""
        pieces = tuple(self.program.log.unwritten_pieces())
        return run_output.RunLog(pieces, self.program.log.total).text

    def over(self, exit_code: int = 0) -> RunEnding:
        """The program has ended with that status; how the run did."""
        self.talk.end()
        plain = "success" if exit_code == 0 else "error"
        return self.talk.ending_of(RunEnding(plain, exit_code, "raw", None if exit_code == 0 else f"exit {exit_code}"))


def _alike(said: Any, spec: Any) -> bool:
    """Whether what was said is what was recorded, but for ids that this side makes up and the time of messages."""
    if said is None or spec is None:
        return said is spec
    if spec.get("type") == "control_request":
        return said["type"] == "control_request" and said["request"]["subtype"] == spec["request"]["subtype"]
    one, other = (_MESSAGE_AT.sub("wrote:", json.dumps(each, sort_keys=True)) for each in (said, spec))
    return one == other
