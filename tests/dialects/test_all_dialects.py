"""All dialects at once, by several agents on several lists, against a plain model: equal at every step.

And equal again after the journal is replayed. `pytest --hypothesis-profile=long tests/dialects/test_all_dialects.py`
runs it 500 times for 50 steps.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from tests.dialects.conversations import Conversations
from tests.dialects.model import HUMAN, Seen
from tests.dialects.model_state import Change, Task, differences
from tests.dialects.sent_requests import (
    AGENT,
    AGENTS,
    AS_HOLDER,
    BOARD,
    CLAIMS,
    CLEAR,
    EVERYTHING,
    LISTS,
    PLANS,
    SETTERS,
    SPEAKERS,
    TASKLIST,
    TODO,
    Pick,
    Speaker,
    chosen,
)
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AcceptTask, EnsureList, SetListReview
from tui_tasks.dialects.requests.arguments import decode
from tui_tasks.dialects.tool_table import TABLE

FILING = st.sampled_from(
    [
        ("tasklist:add_task", {"name": "filed"}),
        ("task", {"action": "create", "title": "filed", "priority": "urgent"}),
        ("task", {"action": "create", "title": "filed", "status": "in_progress"}),
        ("control:claim", {}),
    ]
)
ASSIGN = st.sampled_from(AGENTS).map(lambda name: ("tasks", {"action": "update", "id": "?", "agent_id": name}))
ordinary = settings.get_current_profile_name() == "ordinary"
BOUNDED = settings(max_examples=20, stateful_step_count=25) if ordinary else settings()


class AllDialects(Conversations):
    @initialize(bound=st.sampled_from(LISTS), status=st.sampled_from(["open", "in_progress"]))
    def begin(self, bound, status):
        self.send(Speaker("ada"), ("tasklist:add_task", {"name": "first"}))
        self.send(Speaker("bob", bound), ("task", {"action": "create", "title": "second", "status": status}))
        items = [{"id": str(number), "content": "item", "status": "pending"} for number in range(2)]
        self.send(Speaker("cyd"), ("todo", {"merge": False, "todos": items}))
        tasks = [{"title": "late", "id": "x", "priority": 99}, {"title": "later", "depends_on": ["x"]}]
        self.send(Speaker("ada"), ("create_plan", {"title": "plan", "tasks": tasks}))

    @rule(speaker=SPEAKERS, request=TASKLIST)
    def tasklist(self, speaker, request):
        self.send(speaker, request)

    @rule(speaker=SPEAKERS, request=BOARD)
    def board(self, speaker, request):
        self.send(speaker, request)

    @rule(speaker=SPEAKERS, request=TODO)
    def todo(self, speaker, request):
        self.send(speaker, request)

    @rule(speaker=SPEAKERS, request=PLANS)
    def plans_and_absorbed(self, speaker, request):
        self.send(speaker, request)

    @rule(speaker=SPEAKERS, request=CLAIMS)
    def claims(self, speaker, request):
        self.send(speaker, request)

    @precondition(lambda self: self.model.state.claims)
    @rule(number=st.integers(0, 3), after=st.sampled_from([0, 1, 1, 70]), does=AS_HOLDER)
    def whoever_holds_or_held_a_task(self, number, after, does):
        claims = list(self.model.state.claims.values())
        claim = claims[-1 - number % len(claims)]
        named = {"uid": claim.task, "task_id": claim.task, "id": claim.task, "claim": claim.uid}
        tool, arguments = does
        arguments = {name: named.get(name, value) for name, value in arguments.items()}
        self.send(Speaker(claim.agent, after=after), (tool, arguments))

    @rule(speaker=SPEAKERS, number=st.integers(0, 3), setter=st.sampled_from(SETTERS))
    def what_others_wait_for(self, speaker, number, setter):
        awaited = [on for task in self.model.state.everything() for on in task.depends_on]
        if awaited:
            self.send(speaker, (setter, {"uid": awaited[-1 - number % len(awaited)]}))

    @rule(speaker=SPEAKERS)
    def undo(self, speaker):
        self.send(speaker, ("control:undo", {}))

    @precondition(lambda self: len(self.model.state.everything()) > 8)
    @rule(speaker=SPEAKERS)
    def clear(self, speaker):
        self.send(speaker, ("tasklist:clear", {}))

    @rule(
        speaker=SPEAKERS,
        requests=st.lists(st.tuples(AGENT, EVERYTHING | CLEAR), min_size=1, max_size=4),
        last=st.none() | st.none() | AGENT,
    )
    def batch(self, speaker, requests, last):
        """Of one agent or of several, perhaps with an undo at its end: whole or not at all."""
        requests = [*requests, (last, ("control:undo", {}))] if last else requests
        before = self.model.state.copy()
        self.clock.forward(speaker.after)
        lines = [self.line(speaker, request, agent) for agent, request in requests]
        replies, events = self.answered(speaker, [self.names.write(line) for line in lines])
        self.compare(before, lines, [self.work(speaker, line) for line in lines], replies, events)

    @rule(speaker=SPEAKERS, off=st.sampled_from([0, 0, -1, 1]), request=TASKLIST | BOARD | PLANS)
    def if_version(self, speaker, off, request):
        named = [value for value in request[1].values() if isinstance(value, Pick) and value.kind == "task"]
        task = self.model.state.tasks.get(chosen(self.model.state, named[0])) if len(named) == 1 else None
        self.send(speaker, request, if_version=(task.version if task else 1) + off)

    @rule(speaker=SPEAKERS, request=EVERYTHING)
    def with_a_key(self, speaker, request):
        """The reply to a write is kept under its key; what only reads is read again."""
        reply, line = self.send(speaker, request, idempotency_key=f"key {len(self.keyed)}")
        tool = TABLE.find(line["tool"])
        if reply["ok"] and tool.writes(decode(tool.arguments, line["arguments"])):
            self.keyed.append((speaker, line, reply))

    @precondition(lambda self: self.keyed)
    @rule(number=st.integers(0, 9))
    def again(self, number):
        """The same key with the same request: the same reply, and nothing is written.

        A note beside it says where that write was taken back since.
        """
        speaker, line, reply = self.keyed[number % len(self.keyed)]
        (answer,), events = self.answered(speaker, line)
        if "has taken that write back" in answer.get("note", ""):
            del answer["note"]
        assert (answer, events) == (reply, [])
        changed = {**line, "tool": "tasklist:add_task", "arguments": {"name": "another"}}
        (refused,), events = self.answered(speaker, changed)
        assert (refused["error"]["code"], events) == ("invalid_request", [])

    @precondition(lambda self: self.losses())
    @rule(number=st.integers(0, 9))
    def the_human_brings_back(self, number):
        """What an agent deleted, cleared or replaced."""
        losses = self.losses()
        change = losses[-1 - number % len(losses)]
        before = self.model.state.copy()
        try:
            ((last, _),) = self.store.commit(Undo(change.seqs[0]), actor=HUMAN, now=self.clock())
            reply = {"ok": True, "result": {"undone": last}}
        except Refusal as refusal:
            reply = {"ok": False, "error": {"code": refusal.code, "data": refusal.data}}
        events = self.new_events()
        reply["seq"] = self.heard[-1]["seq"]
        work = (lambda: {"undone": self.model.undo(change)}), Seen(reply["ok"], set())
        self.compare(before, [{"agent": HUMAN, "tool": "undo"}], [work], [reply], events)

    def losses(self) -> list[Change]:
        return [
            change
            for change in self.model.changes
            if change.stands and change.actors and any(name == "deleted" for _, _, name in change.touched())
        ]


TestAllDialects = AllDialects.TestCase
TestAllDialects.settings = BOUNDED


class AllDialectsUnderReview(AllDialects):
    """The same, where the human holds what agents make in a list, and accepts some of it."""

    @initialize(name=st.sampled_from(["tasklist", "task"]))
    def review(self, name):
        before = self.model.state.copy()
        (home,) = self.store.commit(EnsureList(name, name), actor=HUMAN, now=self.clock())
        self.store.commit(SetListReview(home.uid, True), actor=HUMAN, now=self.clock())
        self.model.ensure(name, name).review = True
        assert {event["event"] for event in self.new_events()} <= {"list.created", "list.updated"}
        assert not differences(before, self.model.state)

    def line(self, speaker, request, agent, **envelope):
        """As above; what replaces a list leaves the held tasks of others somewhere in it, so it only merges there."""
        line = super().line(speaker, request, agent, **envelope)
        home = self.model.state.find(self.bound_of(speaker) or "todo")
        if line["tool"] == "todo" and home is not None and home.review:
            line["arguments"]["merge"] = True
        return line

    @rule(agent=AGENT, request=FILING)
    def an_agent_files(self, agent, request):
        (home,) = (home.handle for home in self.model.state.living() if home.review)
        self.send(Speaker(agent, home), request)

    @precondition(lambda self: self.held())
    @rule(agent=AGENT, number=st.integers(0, 9), does=AS_HOLDER | ASSIGN)
    def an_agent_writes_to_what_is_held(self, agent, number, does):
        held = self.held()
        uid = held[number % len(held)].uid
        tool, arguments = does
        named = {"uid": uid, "task_id": uid, "id": uid}
        self.send(Speaker(agent), (tool, {name: named.get(name, value) for name, value in arguments.items()}))

    @precondition(lambda self: self.held())
    @rule(number=st.integers(0, 9))
    def the_human_accepts(self, number):
        held = self.held()
        uid = held[number % len(held)].uid
        before = self.model.state.copy()
        self.store.commit(AcceptTask(self.names.write(uid), 1), actor=HUMAN, now=self.clock())
        events = self.new_events()
        work = (lambda: self.model.accept(uid)), Seen(ok=True, moved=set())
        reply = {"ok": True, "result": None, "seq": self.heard[-1]["seq"]}
        self.compare(before, [{"agent": HUMAN, "tool": "accept"}], [work], [reply], events)

    def held(self) -> list[Task]:
        return [task for task in self.model.state.everything() if task.held]


TestAllDialectsUnderReview = AllDialectsUnderReview.TestCase
TestAllDialectsUnderReview.settings = settings(BOUNDED, max_examples=8) if ordinary else BOUNDED
