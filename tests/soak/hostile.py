"""A state in which every text that an agent can write is one of the sixty payloads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tests.conftest import Clock, Talk
from tests.payloads import text
from tui_tasks import clock
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.operations.jobs import FinishRun, RunJob
from tui_tasks.core.operations.tasks import LogTask
from tui_tasks.core.read import job_queries
from tui_tasks.core.rules.agents.ask_rules import MAX_OPTION
from tui_tasks.core.store import Store
from tui_tasks.core.unhidden_text import invisible_char
from tui_tasks.core.unjournaled import local_values, run_output
from tui_tasks.text.safe import is_invisible

NAME = 10_000
# Peewee makes tables of models that are bound to one database at a time.
_MAKING = threading.Lock()
LONG = 200_000


class Attacker:
    """Writes a payload into every field of everything there is, as an agent does."""

    def __init__(self, talk: Talk, number: int) -> None:
        self.talk = talk
        self.number = number
        self.names = {"agent": self.seen("agent", 200).strip()}

    def text(self, field: str, most: int = NAME) -> str:
        """The payload in a field: what is no name for anybody has the marker in front."""
        return text(self.number, field, most)

    def seen(self, field: str, most: int) -> str:
        """The payload less what no screen shows, which is refused in names of agents and in questions."""
        text = self.text(field, most)
        while (char := invisible_char(text)) is not None:
            text = text.replace(char, "")
        return "".join(char for char in text if not is_invisible(char))

    def long(self, field: str) -> str:
        return self.text(field, LONG)

    def ok(self, tool: str, **arguments: Any) -> Any:
        why = {name: self.long(name) for name in ("topic", "observations", "thoughts", "reflection")}
        return self.talk.ok(tool, {**self.names, **why}, **arguments)

    def write(self) -> None:
        """All of it. What comes last is what a screen begins with."""
        self._memory()
        self._refusal()
        self._job()
        uid = self._plan()
        self._ask(uid)

    def _plan(self) -> str:
        fields = {"title": self.text("title"), "description": self.long("descr"), "agent_id": self.text("who", 200)}
        blocked = {"title": self.text("blocked"), "id": "b", "depends_on": ["a"]}
        first = {**fields, "id": "a", "priority": 1}
        made = self.ok("create_plan", **fields | {"title": self.text("plan")}, tasks=[first, blocked])
        uid = made["tasks"][0]["id"]
        self.ok("update_task", id=uid, status="in_progress", intent=self.long("intent"), notes=self.long("note"))
        words = {"tags": [self.text("tag", 200)], "domain": self.text("domain", 200)}
        self.ok("task", action="update", task_id=uid, metadata={"a": self.text("meta")}, **words)
        steps: dict[str, Any] = {name: [self.text(name[:5])] for name in ("files_modified", "blockers", "decisions")}
        steps |= {"approach": self.long("appr"), "context_snapshot": self.long("snap")}
        self.ok("save_session_state", task_id=uid, **steps)
        self.ok("link_task_nodes", task_id=uid, node_ids=[self.text("node", 200)])
        self.ok("tasklist:log_task_progress", uid=uid, message=self.long("log"))
        # As an earlier version took it, any name.
        older = self.text("agent", 200)
        self.talk.store.commit(LogTask(uid, self.long("log")), actor=older, now=self.talk.clock())
        self._failed(made["plan_id"])
        return str(uid)

    def _failed(self, plan: str) -> None:
        for status in ("failed", "done", "skipped"):
            envelope = {**self.names, "list": plan}
            task = self.talk.ok("tasklist:add_task", envelope, name=self.text(status))
            self.ok(f"tasklist:set_task_{status}", uid=task["uid"])

    def _memory(self) -> None:
        task = self.ok("task", action="create", title=self.text("kept"))["structuredContent"]["task"]
        result = {self.text("rkey", 200): self.long("result")}
        self.ok("task", action="update", task_id=task["task_id"], status="completed", result=result)

    def _refusal(self) -> None:
        reply = self.talk.ask("control:answer", {**self.names}, ask=self.text("uid"), answer=self.text("answer"))
        assert not reply["ok"]
        envelope = {**self.names, "list": self.text("list", 200)}
        self.talk.ok("tasklist:add_task", envelope, name=self.text("other"))

    def _job(self) -> None:
        prompts = {"prompt": self.long("prompt"), "system_prompt": self.long("system")}
        for state in ("failing", "waiting"):
            job = self.ok("scheduler:create_adhoc_task", name=self.text(state, 500), **prompts)
            store, now = self.talk.store, self.talk.clock()
            store.commit(RunJob(job["uuid"], context=self.long("input")), actor="human", now=now)
            (run,) = job_queries.open_runs(store.db, job["uuid"])
            output = self.long("output").encode("utf-8", "replace") + b"\xff\xfe\x9b2J"
            run_output.write_output(store.db, run.uid, [(0, output)], len(output))
            if state == "failing":
                store.commit(FinishRun(run.uid, "error", self.long("outcome")), actor="agent", now=now)

    def _ask(self, uid: str) -> None:
        options = [self.seen("option", MAX_OPTION), self.seen("second", MAX_OPTION)]
        asked = {"question": self.seen("question", LONG), "options": options, "task": uid}
        assert self.talk.lines({**self.names, "tool": "ask", "args": asked}) == []
        self.talk.store.commit(SendMessage(self.names["agent"], self.long("message")), actor="human", now=clock.now())
        local_values.put(self.talk.store.db, local_values.filter_key(self.text("view", 200)), self.text("words", 500))


def fill(database: Path, numbers: list[int]) -> int:
    """Make a database in which these payloads are everywhere; return the newest entry's seq."""
    with _MAKING, Store(str(database)) as store:
        talk = Talk(store, Clock(clock.now()))
        for number in numbers:
            Attacker(talk, number).write()
        return journal.newest(store.db)
