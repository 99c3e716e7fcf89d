"""Whatever agents send, no held task is claimed, assigned, started or done before the human accepts it.

`pytest --hypothesis-profile=long tests/dialects/test_held_properties.py` runs it many times longer.
"""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.conftest import Clock, Talk
from tests.dialects.comparing import tables
from tests.dialects.model_state import Claim, Home, Memory, State, Task
from tests.dialects.sent_requests import (
    AGENT,
    AGENTS,
    AS_HOLDER,
    CLEAR,
    EVERYTHING,
    LISTS,
    SPEAKERS,
    Speaker,
    chosen,
    resolved,
)
from tui_tasks.core.errors import Refusal
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations import Operation, Redo, Undo
from tui_tasks.core.operations.tasks import (
    AcceptTask,
    DeclineTask,
    DeleteTask,
    EditTask,
    EnsureList,
    JoinTask,
    MoveTask,
    SetListReview,
)
from tui_tasks.core.read.tasks import held_queries, ready_tasks, task_queries
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.rules.tasks.held_rules import ACCEPTED
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN, SHELL

ordinary = settings.get_current_profile_name() == "ordinary"
BOUNDED = settings(max_examples=20, stateful_step_count=40) if ordinary else settings()
UNDO = st.just(("control:undo", {}))
REQUESTS = EVERYTHING | CLEAR | UNDO | AS_HOLDER
STATUS = st.sampled_from(["in_progress", "done", "failed", "skipped", "cancelled", "pending"])
PICK = st.sampled_from(range(31))


def words(task: dict[str, Any], among: Any = None) -> list[Any]:
    """What the human accepts of a task; `among`: only the fields with these names."""
    return [task[name] for name in ACCEPTED if among is None or name in among]


class Held(RuleBasedStateMachine):
    """Agents, a shell and the human on the same lists. What is held is known from what was made and what he said."""

    def held_tasks(self) -> list[Any]:
        """The tasks that wait for the human, whole."""
        return [task_queries.task(self.store.db, one.uid) for one in held_queries.everything(self.store.db)]

    @initialize(configured=st.sampled_from([(), ("*",), ("shared", "plan")]))
    def begin(self, configured):
        self.store = Store(":memory:")
        self.clock = Clock()
        self.talk = Talk(self.store, self.clock, agent="reader")
        self.talk.ok("control:subscribe", since=0)
        self.configured = configured
        self.store.review = lambda: ReviewPolicy(configured)
        self.held: dict[str, Any] = {}  # by uid: whom it was given to when it was filed
        self.declined: set[str] = set()
        self.accepted: dict[str, list[Any]] = {}  # by uid: the words that the human has accepted
        self.reviewed: set[str] = set()
        for name in LISTS:
            (home,) = self.human(EnsureList(name, name))
            self.human(SetListReview(home.uid, True))
        for number, agent in enumerate((*AGENTS, *AGENTS)):
            self.talk.ok("tasklist:add_task", {"agent": agent, "list": LISTS[number % 4]}, name=f"task {number}")
        self.take_events()
        for uid in list(self.held)[:2]:
            self.human(AcceptTask(uid, self.version(uid)))
        waits = {"title": "waits", "depends_on": list(self.held)[:1], "agent_id": "bob"}
        self.talk.ok("create_plan", {"agent": "ada"}, title="plan", tasks=[waits, {"title": "free"}])
        self.take_events()

    # Who does what

    def human(self, *operations: Operation) -> list[Any]:
        return self.store.commit(*operations, actor=HUMAN, now=self.clock())

    def tries(self, actor: str, *operations: Operation) -> None:
        with contextlib.suppress(Refusal):
            self.store.commit(*operations, actor=actor, now=self.clock())

    def state(self) -> State:
        """What there is, for what a request picks."""
        state, db = State(), self.store.db
        for found in task_queries.lists(db):
            tasks = task_queries.tasks(db, found.id)
            state.homes[found.id] = Home(
                found.id, found.handle, is_plan=found.kind == "plan", order=[task.uid for task in tasks]
            )
            for task in tasks:
                state.tasks[task.uid] = Task(task.uid, task.id, task.list_id, task.name, 0, status=task.status)
                state.tasks[task.uid].depends_on = list(task.depends_on)
                state.fenced[task.uid] = set(task.fenced)
        for uid, task_uid, agent, holds in db.sql("SELECT uid, task_uid, agent, state = 'active' FROM claim"):
            state.claims[uid] = Claim(uid, task_uid, agent, None, 0, 0, bool(holds))
        for number, (uid,) in enumerate(db.sql("SELECT uid FROM memory")):
            state.memories[uid] = Memory(uid, number, "", "", None, None, 0)
        return state

    def line(self, speaker: Speaker, agent: str, request: Any) -> dict[str, Any]:
        state = self.state()
        bound = chosen(state, speaker.bound)
        home = bound if bound in LISTS or state.find(bound or "") else None
        tool, arguments = request
        return {
            "tool": tool,
            "agent": agent,
            "list": home,
            "arguments": resolved(state, arguments, home or "todo"),
        }

    def task(self, pick: int) -> str:
        """A task, mostly one that is held."""
        there = [task.uid for task in self.held_tasks()] if pick % 3 else list(self.state().tasks)
        return there[pick % len(there)] if there else "none"

    def version(self, uid: str) -> int:
        found = task_queries.any_task(self.store.db, uid)
        return found.version if found is not None else 0

    @rule(speaker=SPEAKERS, request=REQUESTS)
    def an_agent_asks(self, speaker, request):
        self.clock.forward(speaker.after)
        line = self.line(speaker, speaker.agent, request)
        self.look_at([line], [self.talk.one(line)])

    @rule(speaker=SPEAKERS, requests=st.lists(st.tuples(AGENT, REQUESTS), min_size=1, max_size=2))
    def agents_ask_together(self, speaker, requests):
        lines = [self.line(speaker, agent, request) for agent, request in requests]
        self.look_at(lines, self.talk.one(lines))

    @rule(agent=AGENT, pick=PICK, status=STATUS)
    def an_agent_starts_or_ends_one(self, agent, pick, status):
        tool = "control:claim" if status == "pending" and pick % 2 else "tasklist:update_task"
        arguments = {"uid": self.task(pick), "status": "skipped" if status == "cancelled" else status}
        self.asks(agent, tool, {} if tool == "control:claim" else arguments)

    @rule(agent=AGENT, pick=PICK, other=AGENT)
    def an_agent_assigns_one(self, agent, pick, other):
        self.asks(agent, "tasks", {"action": "update", "id": self.task(pick), "agent_id": other})

    @rule(agent=AGENT, pick=PICK, status=st.sampled_from(["pending", "in_progress", "completed"]), merge=st.booleans())
    def an_agent_writes_its_list(self, agent, pick, status, merge):
        items = [{"id": self.task(pick), "content": "x", "status": status}]
        self.asks(agent, "todo", {"merge": merge, "todos": [*items, {"id": "y", "content": "y", "status": "pending"}]})

    @rule(agent=AGENT, pick=PICK, on=PICK)
    def an_agent_files_what_waits(self, agent, pick, on):
        task = {"title": "x", "depends_on": [self.task(on)]}
        self.asks(agent, "create_plan", {"title": "plan", "tasks": [task]})

    @rule(agent=AGENT)
    def an_agent_takes_back(self, agent):
        self.asks(agent, "control:undo", {})

    def asks(self, agent: str, tool: str, arguments: dict[str, Any]) -> None:
        line = {"tool": tool, "agent": agent, "arguments": arguments}
        self.look_at([line], [self.talk.one(line)])

    def look_at(self, lines: list[dict], replies: list[dict]) -> None:
        """No reply gives a held task to anybody."""
        for line, reply in zip(lines, replies, strict=True):
            assert reply["ok"] or reply["error"]["code"] != "internal", (line, reply)
            result = reply.get("result")
            if isinstance(result, dict) and "suggested_next" in result and result["suggested_next"]:
                assert result["suggested_next"]["id"] not in self.held
        self.take_events()

    @rule(pick=PICK, status=STATUS)
    def somebody_at_a_shell(self, pick, status):
        self.tries(SHELL, EditTask(self.task(pick), {"status": status}))

    @rule(who=st.sampled_from([HUMAN, SHELL, *AGENTS]), pick=PICK, to=st.integers(0, 6))
    def one_is_moved(self, who, pick, to):
        homes = task_queries.lists(self.store.db)
        self.tries(who, MoveTask(self.task(pick), list_uid=homes[to % len(homes)].uid))

    @rule(who=st.sampled_from([HUMAN, *AGENTS]), operation=st.sampled_from([Undo(), Redo()]))
    def somebody_takes_back(self, who, operation):
        self.tries(who, operation)

    @rule(pick=PICK, into=PICK, does=st.sampled_from(["accept", "edit", "decline", "join", "delete", "status"]))
    def the_human_decides(self, pick, into, does):
        uid = self.task(pick)
        self.tries(
            HUMAN,
            {
                "accept": AcceptTask(uid, self.version(uid)),
                "edit": AcceptTask(uid, self.version(uid), {"name": "as he wants it"}),
                "decline": DeclineTask(uid, "no"),
                "join": JoinTask(uid, self.task(into), self.version(uid)),
                "delete": DeleteTask(uid),
                "status": EditTask(uid, {"status": "in_progress"}),
            }[does],
        )

    @rule(to=st.integers(0, 6), review=st.booleans())
    def the_human_reviews(self, to, review):
        homes = task_queries.lists(self.store.db)
        self.human(SetListReview(homes[to % len(homes)].uid, review))

    # What always holds

    def take_events(self) -> None:
        while events := self.talk.events():
            for event in events:
                self.take(event)

    def take(self, event: dict[str, Any]) -> None:
        kind, actor, task, changes = event["event"], event["actor"], event.get("task"), event["changes"]
        if kind.startswith("list."):
            self.take_list(event)
        if task is None:
            return
        uid = task["uid"]
        if kind == "task.created":
            home = task_queries.find_list(self.store.db, task["list"])
            named = {"*", task["list"], home.name if home else ""} & set(self.configured)
            assert task["held"] == (actor in AGENTS and (task["list"] in self.reviewed or bool(named)))
            if task["held"]:
                self.held[uid] = task["agent"]
        elif "held" in changes:
            # Whoever changes what was accepted has it held again, and so has it no more who takes that back.
            assert actor == HUMAN or changes["held"][1] or words(task) == self.accepted[uid], event
            if changes["held"][1]:
                self.held[uid] = task["agent"]
            else:
                del self.held[uid]
        if uid in self.held:
            assert (task["status"], task["agent"], task["blocked"]) == ("pending", self.held[uid], True), event
            assert not kind.startswith("claim."), event
        if kind == "task.accepted" or (actor == HUMAN and words(task, changes) and uid not in self.held):
            self.accepted[uid] = words(task)
        elif actor in AGENTS and words(task, changes) and task["status"] == "pending" and task["list"] in self.reviewed:
            assert uid in self.held or words(task) == self.accepted.get(uid, words(task)), event
        if "status" in changes:
            assert uid not in self.declined or actor == HUMAN, event
            self.declined.discard(uid)
        if kind == "task.declined":
            assert task["status"] == "cancelled"
            self.declined.add(uid)
        assert task["held"] == (uid in self.held)

    def take_list(self, event: dict[str, Any]) -> None:
        if "review" in event["changes"]:
            assert event["actor"] == HUMAN
            home = task_queries.any_list(self.store.db, event["list"]["uid"])
            (self.reviewed.add if event["changes"]["review"][1] else self.reviewed.discard)(home.handle)

    @invariant()
    def what_is_held_waits(self):
        self.take_events()
        for task in self.held_tasks():
            assert task.uid in self.held
            assert (task.status, task.claimed_by) == ("pending", None)
            assert task.waiting_on >= 1
        found = ready_tasks.next_task(self.store.db, None, None)
        assert found is None or found.uid not in self.held

    def teardown(self):
        if not hasattr(self, "store"):
            return
        assert database_findings.broken_link(self.store.db) is None
        with Store(":memory:") as again:
            replay(self.store.db, again.db)
            assert tables(again) == tables(self.store)
        self.store.close()


TestHeld = Held.TestCase
TestHeld.settings = BOUNDED
