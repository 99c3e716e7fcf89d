"""Random operations by people and agents against a plain model of the state: equal at every step.

`pytest --hypothesis-profile=long tests/core/test_state_properties.py` runs it many times longer.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from tests.conftest import SECOND
from tests.core.state_model import HUMAN, LOST, Change, Hold, Item, clashes, touched
from tests.core.state_steps import PICK, StateSteps, content
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, NotFound, Refusal, StaleClaim
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.replay import allow_any_order, apply_together, replay
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.tasks import ClaimNext, ExtendClaim, LapseClaims, ReleaseClaim
from tui_tasks.core.read.tasks import ready_tasks, task_queries, task_records
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import STATUSES, SYSTEM

LEASE = 60 * SECOND
BOUNDED = settings()
if settings.get_current_profile_name() == "ordinary":
    BOUNDED = settings(max_examples=30, stateful_step_count=40)


def tables(db: Database) -> dict[str, list]:
    return {name: sorted(map(repr, db.sql(f"SELECT * FROM {name}").fetchall())) for name in STATE}


class TheState(StateSteps):
    """With claims, undo and redo; and what always holds."""

    at_once = 1

    @initialize(at_once=st.sampled_from([2, 7, 1_000]))
    def choose(self, at_once):
        """Choose how many entries are replayed together at the end."""
        self.at_once = at_once

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
        mine = task_records.find(self.db, claim).agent == actor
        self.begin()
        operation = ReleaseClaim(actor, claim) if release else ExtendClaim(actor, claim)
        if not mine or held is None or self.model.holds[held].expires_at <= self.model.now:
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
        """Take claims and versions over: a claim comes back only with a task that goes on."""
        for uid in self.known:
            task = task_queries.any_task(self.db, uid)
            old = self.model.versions.get(uid)
            assert task.version in (old, old + 1)
            self.model.versions[uid] = task.version
            self.model.holds.pop(uid, None)
            if task.claimed_by is not None:
                claim = task_records.of_task(self.db, uid)
                assert claim.agent == task.claimed_by
                self.model.holds[uid] = Hold(claim.uid, claim.agent, claim.was_agent, claim.lease, claim.expires_at)
            self.model.fenced[uid] = set(task.fenced)
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
        except (Conflict, StaleClaim):
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
        except (Conflict, StaleClaim):
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
    def each_task_has_its_number_for_ever(self):
        found = {uid: task_queries.any_task(self.db, uid).number for uid in self.known}
        assert found == {uid: number for number, uid in enumerate(self.known, 1)}

    @invariant()
    def what_is_derived_is_right(self):
        state = self.model.state
        for home in task_queries.lists(self.db):
            statuses = [state.items[uid].status for uid in state.homes[home.uid].order]
            assert {name: getattr(home, name) for name in STATUSES} == {name: statuses.count(name) for name in STATUSES}
            assert len({task.rank for task in task_queries.tasks(self.db, home.id)}) == home.total
            if home.one_in_progress:
                assert not self.model.several(state.homes[home.uid])
            in_progress = task_queries.tasks_of_status(self.db, home.id, "in_progress", 1)
            at_work = [uid for uid in state.homes[home.uid].order if state.items[uid].status == "in_progress"]
            assert [task.uid for task in in_progress] == at_work[:1]
            found = ready_tasks.next_task(self.db, home.id, None)
            assert (found.uid if found else None) == self.model.next_ready(None, [home.uid], claimable=False)
        for uid in state.items:
            task = task_queries.task(self.db, uid)
            assert task.waiting_on == state.waits_on(uid)
            assert task.version == self.model.versions[uid]
            held = self.model.holds.get(uid)
            assert task.claimed_by == (held.agent if held else None)

    def teardown(self):
        if not hasattr(self, "stores"):
            return
        assert database_findings.broken_link(self.db) is None
        with Store(":memory:") as again:
            replay(self.db, again.db)
            assert tables(again.db) == tables(self.db)
        with Store(":memory:") as again, again.db.transaction(write=True):
            allow_any_order(again.db)
            newest = journal.newest(self.db)
            for after in range(0, newest, self.at_once):
                assert list(apply_together(self.db, again.db, after, min(after + self.at_once, newest)))
            assert tables(again.db) == tables(self.db)
        if len(self.actors) == 1:
            self.all_the_way_back_and_forth()
        for store in self.stores:
            store.close()
        self.folder.cleanup()

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
        assert database_findings.broken_link(self.db) is None


TestTheState = TheState.TestCase
TestTheState.settings = BOUNDED
