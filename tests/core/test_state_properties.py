"""Random operations by people and agents against a plain model of the state: equal at every step.

`pytest --hypothesis-profile=long tests/core/test_state_properties.py` runs it many times longer.
"""

import json
import random
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.core.state_model import HUMAN, Hold, Home, Item, Model, State
from tui_tasks.core import journal, models, queries
from tui_tasks.core.database import Database
from tui_tasks.core.errors import Conflict, NotFound, Refusal, StaleClaim
from tui_tasks.core.operations import (
    AddTask,
    ClaimNext,
    ClearList,
    CreatePlan,
    DeleteTask,
    EditTask,
    EnsureList,
    ExtendClaim,
    LapseClaims,
    LinkNodes,
    LogTask,
    MoveTask,
    Redo,
    ReleaseClaim,
    SaveState,
    SetListRule,
    SwapTasks,
    Undo,
)
from tui_tasks.core.store import Store, replay
from tui_tasks.core.vocab import STATUSES, SYSTEM

SECOND = 1_000_000
START = 1_767_352_934 * SECOND
LEASE = 60 * SECOND
OF_A_ROW = Item.__dataclass_fields__.keys() - {"age", "log", "saved"}

BOUNDED = settings()
if settings.get_current_profile_name() == "ordinary":
    BOUNDED = settings(max_examples=60, stateful_step_count=40)

WORDS = st.sampled_from(["plan", "build", "test", "\x1b[31mred\0", "é\U0001f600", "x" * 1_500])
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


@dataclass(eq=False)
class Change:
    """One change as history has it: the state on either side, and whether it still stands."""

    actor: str
    before: State
    after: State
    stands: bool = True


# At the end of a trail that has been lost: what stands on what is not known exactly any more.
LOST = Change("", State(), State())


def content(db: Database) -> State:
    """What the database holds, as the model has it."""
    state = State()
    for found in queries.lists(db):
        tasks = queries.tasks(db, found.id)
        state.homes[found.uid] = Home(found.name, found.one_in_progress, [task.uid for task in tasks])
        for task in tasks:
            saved = queries.saved_state(db, task.uid)
            state.items[task.uid] = Item(
                age=task.id,
                **{name: getattr(task, name) for name in OF_A_ROW},
                log=[entry.message for entry in queries.logs(db, task.uid)],
                saved={"approach": saved.approach, "blockers": saved.blockers, "agent": saved.agent} if saved else None,
            )
    for uid, kept in db.sql("SELECT task_uid, content FROM memory WHERE NOT deleted"):
        state.memories[uid] = json.loads(kept)
    return state


def tables(db: Database) -> dict[str, list]:
    return {name: sorted(map(repr, db.sql(f"SELECT * FROM {name}").fetchall())) for name in models.STATE}


class TheState(RuleBasedStateMachine):
    @initialize(actors=st.sampled_from([[HUMAN], ["a"], ["a", "b", HUMAN], ["a", "b", HUMAN]]))
    def start(self, actors):
        self.actors = actors
        self.store = Store(":memory:")
        self.db = self.store.db
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
        return self.store.commit(*operations, actor=actor, now=self.now)

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
        allowed = self.model.add(None, self.home(home), target, before, fields)
        was, seq = self.begin()
        results = self.change(actor, allowed, AddTask(list_uid=self.home(home), **fields, **place))
        if results:
            (task,) = results
            assert not self.model.add(task.uid, self.home(home), target, before, fields)
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
            if solo and not found.solo and len(self.model.state.in_progress(found)) > 1:
                return [Conflict]
            found.solo = solo
            return []

        self.doing(actor, act, SetListRule(uid, solo))

    # Claims

    @precondition(lambda self: self.actors != [HUMAN])
    @rule(who=PICK, home=st.none() | PICK)
    def claim(self, who, home):
        actor = "ab"[who % 2] if len(self.actors) > 1 else self.actors[0]
        home_uid = None if home is None else self.home(home)
        homes = list(self.model.state.homes) if home is None else [home_uid]
        expected = self.model.next_ready(actor, homes, claimable=True)
        was, seq = self.begin()
        (taken,) = self.commit(actor, ClaimNext(actor, LEASE, home_uid))
        assert (taken[0].uid if taken else None) == expected
        if taken:
            task, held = taken
            assert held.expires_at == self.now + LEASE
            was_agent = self.model.state.items[task.uid].agent
            self.model.claim(task.uid, Hold(held.uid, actor, was_agent, LEASE, held.expires_at))
            self.claims.append(held.uid)
        self.record(actor, was, seq)

    @precondition(lambda self: self.claims)
    @rule(who=PICK, pick=PICK, release=st.booleans())
    def heartbeat_or_release(self, who, pick, release):
        actor, claim = self.actor(who), self.claims[pick % len(self.claims)]
        held = next((uid for uid, hold in self.model.holds.items() if hold.claim == claim), None)
        mine = queries.claim(self.db, claim).agent == actor
        self.begin()
        operation = ReleaseClaim(actor, claim) if release else ExtendClaim(actor, claim)
        if not mine or held is None:
            with pytest.raises(StaleClaim if mine else NotFound):
                self.commit(actor, operation)
        elif release:
            self.doing(actor, lambda: self.model.give_back(held, fence=False) or [], operation)
        else:
            (extended,) = self.commit(actor, operation)
            assert extended.expires_at == self.now + LEASE
            self.model.holds[held].expires_at = extended.expires_at

    @precondition(lambda self: len(self.actors) > 1)
    @rule(seconds=st.sampled_from([20, 61]))
    def time_passes(self, seconds):
        self.now += seconds * SECOND
        over = [uid for uid, hold in self.model.holds.items() if hold.expires_at <= self.now + SECOND]
        was, seq = self.begin()
        assert self.commit(SYSTEM, LapseClaims()) == [len(over)]
        for uid in over:
            self.model.give_back(uid, fence=True)
        self.record(SYSTEM, was, seq)

    # Taking back

    def newest_standing(self, actor: str) -> Change | None:
        return next((change for change in reversed(self.history) if change.actor == actor and change.stands), None)

    def adopt(self) -> None:
        """Take claims and versions over: they do not go back with an undo."""
        for uid in self.known:
            task = queries.any_task(self.db, uid)
            old = self.model.versions.get(uid)
            assert task.version in (old, old + 1)
            self.model.versions[uid] = task.version
            if task.claimed_by is None:
                self.model.holds.pop(uid, None)
            if task.deleted:
                self.model.graveyard.setdefault(uid, Item(task.id, task.name))
                self.model.graveyard[uid].depends_on = task.depends_on

    @rule(who=PICK)
    def undo(self, who):
        actor = self.actor(who)
        change = self.newest_standing(actor)
        now, seq = self.begin()
        later = self.history[self.history.index(change) + 1 :] if change else []
        others = [other for other in later if other.stands and other.actor != actor]
        try:
            self.commit(actor, Undo())
        except Conflict:
            assert journal.newest(self.db) == seq
            assert content(self.db) == now
            assert change is None or self.trail[-1:] != [change], "refused though nothing has happened since"
            return
        assert change is not None, "there was nothing to take back"
        assert journal.newest(self.db) > seq
        assert not clashes(change, others), "taken back though somebody has changed the same since"
        back = content(self.db)
        exact = self.trail[-1:] == [change]
        assert not exact or back == change.before
        self.trail = self.trail[:-1] if exact else [LOST]
        for uid in now.items.keys() & back.items.keys() - touched(change):
            assert back.items[uid] == now.items[uid]
        change.stands = False
        self.model.state = back
        self.undone.setdefault(actor, []).append((change, now, list(self.trail) if exact else None))
        self.adopt()

    @rule(who=PICK)
    def redo(self, who):
        actor = self.actor(who)
        stack = self.undone.get(actor, [])
        _, seq = self.begin()
        try:
            self.commit(actor, Redo())
        except Conflict:
            assert journal.newest(self.db) == seq
            assert not stack or stack[-1][2] != self.trail, "refused though nothing has happened since the undo"
            return
        assert stack, "done again though it was never undone, or something was changed after it"
        change, before, under = stack.pop()
        self.model.state, exact = content(self.db), under == self.trail
        assert not exact or self.model.state == before
        self.trail = [*self.trail, change] if exact else [LOST]
        change.stands = True
        self.adopt()

    # What always holds

    @invariant()
    def the_database_holds_what_the_model_holds(self):
        assert content(self.db) == self.model.state

    @invariant()
    def what_is_derived_is_right(self):
        state = self.model.state
        for home in queries.lists(self.db):
            statuses = [state.items[uid].status for uid in state.homes[home.uid].order]
            assert {name: getattr(home, name) for name in STATUSES} == {name: statuses.count(name) for name in STATUSES}
            if home.one_in_progress:
                assert home.in_progress <= 1
            in_progress = queries.in_progress(self.db, home.id)
            assert (in_progress.uid if in_progress else None) == next(
                (uid for uid in state.homes[home.uid].order if state.items[uid].status == "in_progress"), None
            )
            ready = queries.ready(self.db, home.id, None)
            assert (ready.uid if ready else None) == self.model.next_ready(None, [home.uid], claimable=False)
        for uid in state.items:
            task = queries.task(self.db, uid)
            assert task.waiting_on == state.waits_on(uid)
            assert task.version == self.model.versions[uid]
            held = self.model.holds.get(uid)
            assert task.claimed_by == (held.agent if held else None)

    def teardown(self):
        if not hasattr(self, "store"):
            return
        assert journal.broken_link(self.db) is None
        with Store(":memory:") as again:
            replay(self.db, again.db)
            assert tables(again.db) == tables(self.db)
        if len(self.actors) == 1:
            self.all_the_way_back_and_forth()
        self.store.close()

    def all_the_way_back_and_forth(self):
        """A speaker alone can take everything back, and do it all again."""
        last = content(self.db)
        for operation, end in ((Undo(), self.first), (Redo(), last)):
            while True:
                try:
                    self.begin()
                    self.commit(self.actors[0], operation)
                except Refusal as refusal:
                    assert isinstance(refusal, Conflict)
                    break
            if operation == Undo() or not self.undone.get(self.actors[0]):
                assert content(self.db) == end
        assert journal.broken_link(self.db) is None


def touched(change: Change) -> set[str]:
    before, after = change.before.items, change.after.items
    moved = {
        uid
        for homes in (change.before.homes, change.after.homes)
        for home in homes.values()
        for uid in home.order
        if uid in before and uid in after and place(change.before, uid) != place(change.after, uid)
    }
    return {uid for uid in before.keys() | after.keys() if before.get(uid) != after.get(uid)} | moved


def place(state: State, uid: str) -> tuple[str, int]:
    return next((home_uid, home.order.index(uid)) for home_uid, home in state.homes.items() if uid in home.order)


def clashes(change: Change, others: list[Change]) -> bool:
    """Whether somebody else has since changed a field of a task that the change had changed."""
    mine = fields_changed(change)
    return any(mine & fields_changed(other) for other in others if other.actor != SYSTEM)


def fields_changed(change: Change) -> set[tuple[str, str]]:
    before, after = change.before.items, change.after.items
    names = OF_A_ROW - {"started_at", "finished_at"}
    return {
        (uid, name)
        for uid in before.keys() & after.keys()
        for name in names
        if getattr(before[uid], name) != getattr(after[uid], name)
    }


TestTheState = TheState.TestCase
TestTheState.settings = BOUNDED


def filled() -> Store:
    store = Store(":memory:")
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="a", now=START)
    uids = [
        store.commit(AddTask(f"task {n}", home.uid, "d" * n), actor="a", now=START + n, why={"topic": "t"})[0].uid
        for n in range(20)
    ]
    for n, uid in enumerate(uids):
        store.commit(EditTask(uid, {"status": "done", "result": {"n": n}}), LogTask(uid, "é"), actor="b", now=START)
    return store


def test_any_byte_of_the_journal_that_is_changed_is_found():
    rng = random.Random(7)
    store = filled()
    db = store.db
    columns = [name for _, name, *_ in db.sql("PRAGMA table_info(journal)").fetchall()]
    rows = db.sql("SELECT * FROM journal ORDER BY seq").fetchall()
    assert journal.broken_link(db) is None
    for _ in range(1_000):
        row = rng.choice(rows)
        at = rng.randrange(len(columns))
        value = row[at]
        if value is None:
            changed = rng.choice([0, "", b""])
        elif isinstance(value, int):
            changed = value ^ (1 << rng.randrange(40))
        else:
            raw = bytearray(value.encode() if isinstance(value, str) else value)
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            changed = bytes(raw)
        cast = "CAST(? AS TEXT)" if isinstance(value, str) else "?"
        with pytest.raises(ZeroDivisionError), db.transaction(write=True):
            try:
                db.sql(f"UPDATE journal SET {columns[at]} = {cast} WHERE seq = ?", (changed, row[0]))
            except Exception as taken:
                assert "UNIQUE" in str(taken)
            else:
                assert journal.broken_link(db) is not None, (columns[at], value, changed)
            raise ZeroDivisionError
    assert journal.broken_link(db) is None


def test_an_entry_taken_out_of_the_middle_or_put_in_another_place_is_found():
    store = filled()
    for statement in (
        "DELETE FROM journal WHERE seq = 10",
        "UPDATE journal SET seq = seq + 1000 WHERE seq = 10",
        "UPDATE journal SET old = (SELECT new FROM journal WHERE seq = 3), new = NULL WHERE seq = 5",
    ):
        with pytest.raises(ZeroDivisionError), store.db.transaction(write=True):
            store.db.sql(statement)
            assert journal.broken_link(store.db) is not None, statement
            raise ZeroDivisionError
