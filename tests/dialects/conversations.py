"""Several agents who speak several dialects, each answer held against a plain model of what all of them did."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from tests.conftest import Clock, Talk
from tests.dialects.comparing import (
    TOLD,
    Names,
    are_refusals,
    asking,
    display,
    same,
    tables,
    trimmed,
    wanted_event,
)
from tests.dialects.model import SYSTEM, Call, Model, Seen
from tests.dialects.model_dialects import TOOLS
from tests.dialects.model_shapes import SHOWN, as_todo, full, iso, priority_word
from tests.dialects.model_state import Diff, Refused, State, differences
from tests.dialects.sent_requests import (
    AGENTS,
    CHANGES_ONE,
    LISTS,
    Speaker,
    chosen,
    resolved,
)
from tests.on_server import path_of
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.store import Store

WHY = {"topic": "t", "thoughts": ["because"]}
# What the model does for a request, and what was seen of the reply.
Work = tuple[Callable[[], Any], Seen]


class Conversations(RuleBasedStateMachine):
    """Sends requests, has the model do the same, and compares replies, events and what every dialect then shows."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(path_of(":memory:"))
        self.clock = Clock()
        self.talks: dict[Any, Talk] = {}
        self.reader = self.talk("reader", None)
        self.reader.ok("control:subscribe", since=0)
        self.model = Model()
        self.names = Names()
        self.heard: list[dict] = []
        self.keyed: list[tuple[Speaker, dict, dict]] = []
        self.turn = 0
        # Whether the last step went through, so that the end is worth looking at.
        self.sound = True

    def talk(self, agent: str, bound: str | None) -> Talk:
        if (agent, bound) not in self.talks:
            self.talks[agent, bound] = Talk(self.store, self.clock, agent=agent, list=bound)
        return self.talks[agent, bound]

    # Sending

    def send(self, speaker: Speaker, request: Any, **envelope: Any) -> tuple[dict, dict]:
        """One request; return the reply as it came and the request as it went."""
        before = self.model.state.copy()
        self.clock.forward(speaker.after)
        line = self.line(speaker, request, speaker.agent, **envelope)
        written = self.names.write(line)
        replies, events = self.answered(speaker, written)
        self.compare(before, [line], [self.work(speaker, line)], replies, events)
        return replies[0], written

    def line(self, speaker: Speaker, request: Any, agent: str, **envelope: Any) -> dict:
        """A request in the model's names."""
        bound = self.bound_of(speaker)
        tool, arguments = request
        named = {"agent": agent, "list": bound} if speaker.envelope else {"agent": agent}
        arguments = resolved(self.model.state, arguments, bound or "todo")
        return {"id": 7, "tool": tool, "arguments": arguments, **named, **(WHY if speaker.why else {}), **envelope}

    def bound_of(self, speaker: Speaker) -> str | None:
        bound = chosen(self.model.state, speaker.bound)
        return bound if bound in LISTS or self.model.state.find(bound or "") else None

    def answered(self, speaker: Speaker, line: Any) -> tuple[list[dict], list[dict]]:
        """The replies to a line and the events that came of it, both as the program wrote them."""
        bound = self.names.write(self.bound_of(speaker))
        if speaker.envelope:
            replies = self.talk("nobody", None).one(line)
        else:
            # Who speaks, unless it is another of the batch, and on which list is the channel's to say.
            own = [{k: v for k, v in one.items() if (k, v) != ("agent", speaker.agent)} for one in as_list(line)]
            replies = self.talk(speaker.agent, bound).one(own if isinstance(line, list) else own[0])
        return as_list(replies), self.new_events()

    def new_events(self) -> list[dict]:
        events: list[dict] = []
        while some := self.reader.events():
            events += some
        self.heard += events
        return events

    def work(self, speaker: Speaker, line: dict) -> Work:
        seen = Seen(ok=False, moved=set())
        return partial(serve, Call(self.model, line["agent"], self.bound_of(speaker), seen), line), seen

    # Comparing

    def compare(self, before: State, lines: list[dict], work: list[Work], replies: Any, events: Any) -> None:
        """The model does the same; its results, its refusals and everything it shows are the program's."""
        self.sound = False
        self.turn += 1
        newest = self.heard[-1]["seq"] if self.heard else 0
        # An undo may have restored a claim of which nothing is left.
        self.reader.session.settle()
        events = [*events, *self.new_events()]
        self.learn(replies, events)
        replies, events = self.names.read(replies), self.names.read(events)
        agents = [line["agent"] for line in lines]
        seqs = {agent: [event["seq"] for event in events if event["actor"] == agent] for agent in agents}
        last = 0
        for (_, seen), reply in zip(work, replies, strict=True):
            own = [event for event in events if last < event["seq"] <= reply["seq"]]
            moved = {event["task"]["uid"] for event in own if event["event"] == "task.moved"}
            seen.ok, seen.moved, last = reply["ok"], moved, reply["seq"]
        runs = [(agent, run) for agent, (run, _) in zip(agents, work, strict=True)]
        self.model.begin(self.clock())
        changes = len(self.model.changes)
        try:
            results = self.model.serve(runs, {agent: (own[0], own[-1]) for agent, own in seqs.items() if own})
        except Refused as refused:
            are_refusals(replies, refused)
        else:
            assert [reply["ok"] for reply in replies] == [True] * len(lines), (lines, replies)
            for line, reply, result in zip(lines, replies, results, strict=True):
                same(trimmed(line["tool"], reply["result"]), result, line)
        assert replies[-1]["seq"] == newest
        self.model.serve([(SYSTEM, self.model.lapse)], {})
        self.finds_places()
        self.shows(self.reader, self.reads())
        self.tells_the_same(differences(before, self.model.state), events, lines)
        self.takes_back_what_it_shows()
        # A batch, and what takes one back, may change something and change it back.
        if len(self.model.changes) == changes and len(lines) == 1 and lines[0]["tool"] != "control:undo":
            told = {event["event"] for event in events if event["actor"] != SYSTEM}
            assert told <= {"claim.extended"}, "told though nothing has changed"
        self.sound = True

    def learn(self, replies: list[dict], events: list[dict]) -> None:
        """Get to know the ids of what was made."""
        for event in events:
            if event["event"] == "task.created":
                self.names.learn(event["task"]["uid"], "task")
        for plan in self.reader.ok("get_plans")["plans"]:
            self.names.learn(plan["plan_id"], "plan")
        for memory in self.reader.ok("memory", action="list")["memories"]:
            self.names.learn(memory["memory_id"], "memory", f"memory-of-{self.names.by_id[memory['task_id']]}")
        for reply in replies:
            if reply["ok"] and isinstance(reply["result"], dict) and "claim" in reply["result"]:
                self.names.learn(reply["result"]["claim"], "claim")

    def tells_the_same(self, diff: Diff, events: list[dict], lines: list[dict]) -> None:
        """Every change is told: who, when, why, what it was and what it became; and nothing else is."""
        why = {key: lines[0][key] for key in WHY if key in lines[0]} or None
        undoing = any(line["tool"] in ("control:undo", "undo") for line in lines)
        told = [event for event in events if "task" in event]
        kinds = {(event["event"], event["task"]["uid"]) for event in told}
        created = {uid for kind, uid in kinds if kind == "task.created"}
        pairs: dict[Any, list[Any]] = {}
        for event in told:
            for name, (old, new) in event["changes"].items():
                pairs[event["task"]["uid"], name] = [*pairs.get((event["task"]["uid"], name), [old])[:1], new]
        for event in events:
            assert event["actor"] in {SYSTEM, *(line["agent"] for line in lines)}
            assert event["at"] == iso(self.clock())
            assert event["why"] == (None if event["actor"] == SYSTEM else why)
        for (kind, uid, name), (old, new) in diff.items():
            wanted = wanted_event(kind, name, new)
            # The protocol has no name for a log entry that is taken back, or comes back.
            wanted = None if undoing and wanted == "task.logged" else wanted
            assert wanted is None or (wanted, uid) in kinds or (uid in created and name != "made"), (wanted, uid)
            if kind == "task" and name in TOLD and uid not in created:
                assert pairs[uid, name] == [old, new], (uid, name)
        images = {event["task"]["uid"]: event["task"] for event in told}
        assert {uid for kind, uid, _ in diff if kind in ("task", "log", "saved")} <= images.keys()
        for uid, image in images.items():
            # Whether it is blocked may have changed after the last event of its own.
            task = self.model.state.tasks[uid]
            now = full(self.model, task) | {"blocked": image["blocked"]}
            now |= {"depends_on": image["depends_on"]} if task.deleted else {}
            same(trimmed("control:task", image), now, "the last event of it")

    def takes_back_what_it_shows(self) -> None:
        """Writing back the word just shown changes nothing (section 4): todo lists, and one task after the other."""
        state = self.model.state
        asked = []
        for home in (home for home in state.living() if len(home.order) > 1):
            shown = [as_todo(task) for task in state.in_order(home)]
            asked.append({**asking("todo", merge=True, todos=shown[:2]), "list": home.handle})
        tasks = state.everything()
        for task in tasks[self.turn % len(tasks) :][:1] if tasks else ():
            claim = state.claim_on(task.uid)
            words = {dialect: SHOWN[dialect][task.status] for dialect in SHOWN}
            board = {"task_id": task.uid, "status": words["task"], "priority": priority_word(task.priority)}
            asked += [
                {**request, "agent": claim.agent if claim else "reader"}
                for request in (
                    asking("tasklist:update_task", uid=task.uid, status=words["tasklist"]),
                    asking("task", action="update", **board),
                    asking("update_task", id=task.uid, status=words["tasks"]),
                )
            ]
        self.shows(self.reader, asked)
        assert not self.new_events(), "told though nothing has changed"

    def finds_places(self) -> None:
        """Where an undo has left it open which place a task has, the model takes it over."""
        homes = self.model.state.living()
        for home, shown in zip(homes, self.replies(self.reader, [display(home.handle) for home in homes]), strict=True):
            self.model.place(home, [task["uid"] for task in shown])

    def shows(self, talk: Talk, requests: list[dict]) -> None:
        """The replies to requests that change nothing are those of the model."""
        for request, shown in zip(requests, self.replies(talk, requests), strict=True):
            self.model.actor = request.get("agent", "reader")
            call = Call(self.model, self.model.actor, request.get("list"), Seen(True, set()))
            same(trimmed(request["tool"], shown), TOOLS[request["tool"]](call, **request["arguments"]), request)
            if request["tool"] == "control:task":
                assert (shown["finished_at"] is None) == (shown["status"] in ("pending", "in_progress"))
                assert shown["started_at"] is not None or shown["status"] != "in_progress"

    def replies(self, talk: Talk, requests: list[dict]) -> list[Any]:
        """The results of a batch that must be served, in the model's names."""
        if not requests:
            return []
        return [reply["result"] for reply in self.names.read(talk.one([self.names.write(one) for one in requests]))]

    def reads(self) -> list[dict]:
        """What shows the whole state: every list and task, and in turn what each agent and the board see of it."""
        agent, turn = AGENTS[self.turn % len(AGENTS)], self.turn // len(AGENTS)
        asked = [asking("tasks", action="list_plans"), asking("memory", action="list")]
        asked += [asking("tasks", action="pending", suggest_next=True)]
        asked += [{**asking("get_my_tasks", suggest_next=True), "agent": agent}]
        bound = [*LISTS, *(home.handle for home in self.model.state.living() if home.is_plan)]
        asked += [display(handle) for handle in bound]
        asked += [{**asking("tasklist:get_task_in_progress"), "list": handle} for handle in bound]
        asked += [{**asking("task", action="list"), "list": bound[turn % len(bound)]}]
        for task in self.model.state.everything():
            asked += [asking("control:task", uid=task.uid), asking("tasklist:get_task_logs", uid=task.uid)]
            asked += [asking("tasks", action="get_state", task_id=task.uid)]
        return asked

    def teardown(self) -> None:
        """The journal has no gap and no flaw, and replayed it gives the same tables, and the same to every dialect."""
        if self.sound:
            db = self.store.db
            assert database_findings.broken_link(db) is None
            assert [event["seq"] for event in self.heard] == list(range(1, len(self.heard) + 1))
            assert self.reader.ok("control:history", since=0, limit=10_000)["entries"] == self.heard
            with Store(":memory:") as again:
                replay(db, again.db)
                assert tables(again) == tables(self.store)
                self.shows(Talk(again, self.clock, agent="reader"), self.reads())
        self.store.close()


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def serve(call: Call, line: dict) -> Any:
    if "if_version" in line:
        check_version(call, line)
    return TOOLS[line["tool"]](call, **line["arguments"])


def check_version(call: Call, line: dict) -> None:
    """docs: protocol, section 2, `if_version`."""
    arguments = line["arguments"]
    if arguments.get("action", line["tool"]) not in CHANGES_ONE:
        raise Refused("invalid_request", "invalid_argument", "not_found")
    uid = next(arguments[name] for name in ("uid", "task_id", "id") if name in arguments)
    problems = ["invalid_argument"] if len(arguments) == 1 + ("action" in arguments) else []
    task = call.state.tasks.get(uid)
    if task is None or task.deleted:
        raise Refused("not_found", *problems)
    if task.version != line["if_version"]:
        raise Refused("conflict", *problems, version=task.version)
