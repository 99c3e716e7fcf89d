"""What people and agents do to tasks and lists, at random, beside a plain model of the state that does the same."""

import itertools
import json
import tempfile

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.conftest import SECOND, START
from tests.core.state_model import HUMAN, OF_A_ROW, Change, Home, Item, Model, State
from tests.on_server import IS_ON_SERVER, path_of
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.tasks import (
    AddTask,
    ClearList,
    CreatePlan,
    DeleteTask,
    EditTask,
    EnsureList,
    LinkNodes,
    LogTask,
    MoveTask,
    SaveState,
    SetListRule,
    SwapTasks,
)
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import STATUSES

NUL = "" if IS_ON_SERVER else "\0"
WORDS = st.sampled_from(["plan", "build", "test", f"\x1b[31mred{NUL}", "é\U0001f600", "x" * 1_500])
STATUS = st.sampled_from(STATUSES)
PICK = st.integers(0, 11)
PICKS = st.lists(PICK, max_size=2)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "name": WORDS,
        "description": WORDS | st.just(""),
        "status": STATUS,
        "priority": st.integers(1, 99),
        "tags": st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(tuple),
        "domain": st.none() | st.sampled_from(["infra", "web"]),
        "result": st.none() | st.booleans() | st.integers(0, 1) | WORDS | st.just({"n": [1, {}]}),
        "metadata": st.none() | st.just({"k": 1}) | st.just({"k": True}),
        "agent": st.none() | st.sampled_from("ab"),
        "intent": st.none() | WORDS,
    },
)


def content(db: Database) -> State:
    """What the database holds, as the model has it."""
    state = State()
    for found in task_queries.lists(db):
        tasks = task_queries.tasks(db, found.id)
        state.homes[found.uid] = Home(found.name, found.one_in_progress, [task.uid for task in tasks])
        for task in tasks:
            saved = task_records.saved_state(db, task.uid)
            state.items[task.uid] = Item(
                age=task.id,
                **{name: getattr(task, name) for name in OF_A_ROW},
                log=[entry.message for entry in task_records.logs(db, task.uid)],
                saved={"approach": saved.approach, "blockers": saved.blockers, "agent": saved.agent} if saved else None,
            )
    for uid, kept in db.sql("SELECT task_uid, content FROM memory WHERE NOT deleted"):
        state.memories[uid] = json.loads(kept)
    return state


class StateSteps(RuleBasedStateMachine):
    """Requests about tasks and lists; each is done whole, or refused as the model has named it and nothing written."""

    @initialize(
        actors=st.sampled_from([[HUMAN], ["a"], ["a", "b", HUMAN], ["a", "b", HUMAN]]),
        turns=st.lists(st.integers(0, 1), min_size=1, max_size=5),
    )
    def start(self, actors, turns):
        self.actors = actors
        self.folder = tempfile.TemporaryDirectory()
        # Two writers of one database: what the one has looked up, the other changes.
        path = path_of(f"{self.folder.name}/tasks.db")
        self.stores = [Store(path) for _ in range(2)]
        for store in self.stores:
            store.db.sql("PRAGMA synchronous = off")
        self.turns = itertools.cycle(turns)
        self.db = self.stores[0].db
        self.now = START
        self.model = Model()
        self.model.state = content(self.db)
        self.first = self.model.state.copy()
        self.known: list[str] = []
        self.claims: list[str] = []
        self.history: list[Change] = []
        # The changes that stand one on the other, none taken back from under another.
        self.trail: list[Change] = []
        # By speaker: what was taken back, the state before that, and the trail after it.
        self.undone: dict[str, list[tuple[Change, State, list[Change] | None]]] = {}
        for number in range(4):
            self.add(number, 0, None, False, {}, f"task {number}", [])

    # What the rules stand on

    def actor(self, pick: int) -> str:
        return self.actors[pick % len(self.actors)]

    def uid(self, pick: int) -> str:
        """A task; now and then one that was deleted, or never was."""
        there = list(self.model.state.items)
        if there and pick < 9:
            return there[pick % len(there)]
        return self.known[pick % len(self.known)] if self.known and pick < 11 else "no-such-task"

    def home(self, pick: int) -> str:
        homes = list(self.model.state.homes)
        return homes[pick % len(homes)]

    def commit(self, actor: str, *operations):
        self.now = self.model.now
        return self.stores[next(self.turns)].commit(*operations, actor=actor, now=self.now)

    def change(self, actor: str, allowed, *operations):
        """Commit what the model has done already, or expect a refusal that it has named and nothing written."""
        if not allowed:
            return self.commit(actor, *operations)
        before = journal.newest(self.db)
        with pytest.raises(tuple(set(allowed))):
            self.commit(actor, *operations)
        assert journal.newest(self.db) == before
        return None

    def doing(self, actor: str, act, *operations):
        """One request: `act` on the model, the operations on the store."""
        was, seq = self.begin()
        allowed = act()
        results = self.change(actor, allowed, *operations)
        if allowed:
            return None
        self.record(actor, was, seq, results)
        return results

    def begin(self) -> tuple[State, int]:
        self.model.begin(self.now + SECOND)
        return self.model.state.copy(), journal.newest(self.db)

    def record(self, actor: str, was: State, seq: int, results=None) -> None:
        self.model.end()
        wrote = journal.newest(self.db) > seq
        assert wrote == (bool(self.model.wrote) or was != self.model.state), "an entry where nothing changed, or none"
        if wrote:
            self.history.append(Change(actor, was, self.model.state.copy()))
            self.trail.append(self.history[-1])
            self.undone.pop(actor, None)

    # Requests

    @rule(who=PICK, home=PICK, beside=st.none() | PICK, before=st.booleans(), fields=CHANGES, name=WORDS, on=PICKS)
    def add(self, who, home, beside, before, fields, name, on):
        actor = self.actor(who)
        fields = {"name": name, **fields, "depends_on": tuple(dict.fromkeys(self.uid(pick) for pick in on))}
        target = None if beside is None else self.uid(beside)
        place = {"before" if before else "after": target} if target else {}
        allowed = self.model.add(actor, None, self.home(home), target, before, fields)
        was, seq = self.begin()
        results = self.change(actor, allowed, AddTask(list_uid=self.home(home), **fields, **place))
        if results:
            (task,) = results
            assert not self.model.add(actor, task.uid, self.home(home), target, before, fields)
            self.known.append(task.uid)
            self.record(actor, was, seq)
            assert task.version == 1

    @rule(who=PICK, pick=PICK, changes=CHANGES)
    def edit(self, who, pick, changes):
        actor, uid = self.actor(who), self.uid(pick)
        self.doing(actor, lambda: self.model.edit(actor, uid, changes), EditTask(uid, changes))

    @rule(who=PICK, pick=PICK, status=STATUS)
    def set_status(self, who, pick, status):
        self.edit(who, pick, {"status": status})

    @rule(who=PICK, pick=PICK, on=PICKS)
    def depend(self, who, pick, on):
        self.edit(who, pick, {"depends_on": tuple(dict.fromkeys(self.uid(other) for other in on))})

    @rule(who=PICK, pick=PICK, home=PICK, beside=st.none() | PICK, before=st.booleans())
    def move(self, who, pick, home, beside, before):
        actor, uid = self.actor(who), self.uid(pick)
        target = None if beside is None else self.uid(beside)
        place = {"before" if before else "after": target} if target else {"list_uid": self.home(home)}
        self.doing(actor, lambda: self.model.move(actor, uid, self.home(home), target, before), MoveTask(uid, **place))

    @rule(who=PICK, one=PICK, two=PICK)
    def swap(self, who, one, two):
        actor, uids = self.actor(who), (self.uid(one), self.uid(two))
        results = self.doing(actor, lambda: self.model.swap(actor, *uids), SwapTasks(*uids))
        if results and uids[0] != uids[1]:
            order = self.model.state.home_of(uids[0]).order
            assert [task.uid for task in results[0]] == sorted(uids, key=order.index)

    @rule(who=PICK, pick=PICK)
    def delete(self, who, pick):
        actor, uid = self.actor(who), self.uid(pick)
        self.doing(actor, lambda: self.model.delete(actor, uid), DeleteTask(uid))

    @rule(who=PICK, home=PICK)
    def clear(self, who, home):
        actor, uid = self.actor(who), self.home(home)
        count = len(self.model.state.homes[uid].order)
        results = self.doing(actor, lambda: self.model.clear(actor, uid), ClearList(uid))
        assert results is None or results == [count]

    @rule(who=PICK, pick=PICK, message=WORDS)
    def log(self, who, pick, message):
        actor, uid = self.actor(who), self.uid(pick)
        self.doing(actor, lambda: self.model.log(actor, uid, message), LogTask(uid, message))

    @rule(who=PICK, pick=PICK, nodes=st.lists(st.sampled_from(["n1", "n2"]), max_size=2).map(tuple))
    def link(self, who, pick, nodes):
        actor, uid = self.actor(who), self.uid(pick)
        self.doing(actor, lambda: self.model.link(actor, uid, nodes), LinkNodes(uid, nodes))

    @rule(who=PICK, pick=PICK, approach=WORDS, blockers=st.lists(WORDS, max_size=1).map(tuple))
    def save_state(self, who, pick, approach, blockers):
        actor, uid = self.actor(who), self.uid(pick)
        fields = {"approach": approach, "blockers": blockers}
        self.doing(actor, lambda: self.model.save(actor, uid, fields), SaveState(uid, actor, fields))

    @rule(who=PICK, pick=PICK, other=PICK, changes=CHANGES, message=WORDS)
    def several_at_once(self, who, pick, other, changes, message):
        """Whole or not at all, and the version of each task goes up by one."""
        actor, uid, second = self.actor(who), self.uid(pick), self.uid(other)
        kept = self.model.state.copy(), dict(self.model.holds)

        def act():
            refusals = (
                self.model.edit(actor, uid, changes)
                or self.model.log(actor, uid, message)
                or self.model.delete(actor, second)
            )
            if refusals:
                self.model.state, self.model.holds = kept
            return refusals

        self.doing(actor, act, EditTask(uid, changes), LogTask(uid, message), DeleteTask(second))

    # Lists

    @rule(who=PICK, name=st.sampled_from(["tasklist", "extra", "more"]), origin=st.sampled_from(["tasklist", "task"]))
    def ensure_list(self, who, name, origin):
        actor, state = self.actor(who), self.model.state
        there = [uid for uid, home in state.homes.items() if home.name == name]
        was, seq = self.begin()
        (made,) = self.commit(actor, EnsureList(name, origin))
        assert not there or there == [made.uid]
        state.homes.setdefault(made.uid, Home(name, origin == "tasklist"))
        self.record(actor, was, seq)

    @precondition(lambda self: len(self.model.state.homes) < 6)
    @rule(who=PICK)
    def create_plan(self, who):
        actor = self.actor(who)
        was, seq = self.begin()
        (made,) = self.commit(actor, CreatePlan("Plan"))
        self.model.state.homes[made.uid] = Home("Plan", False)
        self.record(actor, was, seq)

    @rule(home=PICK, solo=st.booleans())
    def set_rule(self, home, solo):
        actor, uid = self.actors[-1], self.home(home)
        found = self.model.state.homes[uid]

        def act():
            if solo and not found.solo and self.model.several(found):
                return [Conflict]
            found.solo = solo
            return []

        self.doing(actor, act, SetListRule(uid, solo))
