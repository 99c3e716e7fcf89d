"""The state as plain Python: what operations do (docs: protocol, sections 4, 5 and 7), with no database in it."""

import copy
from dataclasses import dataclass, field
from typing import Any

from tui_tasks.core.errors import Conflict, InvalidArgument, NotFound, StaleClaim

HUMAN, SYSTEM = "human", "system"
CLOSED = {"done", "failed", "skipped", "cancelled"}
LETS_GO = {"done", "skipped", "cancelled"}


@dataclass
class Home:
    """A list: whether one in progress is the most for each agent, and its tasks in order."""

    name: str
    solo: bool
    order: list[str] = field(default_factory=list)


@dataclass
class Item:
    """A task. `age` is its place in the order of making."""

    age: int
    name: str
    status: str = "pending"
    description: str = ""
    priority: int = 3
    tags: tuple = ()
    domain: Any = None
    result: Any = None
    metadata: Any = None
    agent: Any = None
    intent: Any = None
    depends_on: tuple = ()
    node_ids: tuple = ()
    log: list = field(default_factory=list)
    saved: Any = None
    started_at: Any = None
    status_by: Any = None
    finished_at: Any = None

    @property
    def counts_for(self) -> str:
        return self.agent or self.status_by

    def come_to(self, status: str, now: int, actor: str) -> None:
        """What a change of status says of who set it, and of when it was started and finished."""
        if status == "in_progress":
            self.started_at, self.finished_at = now, None
        elif status in CLOSED:
            self.finished_at = now
        else:
            self.started_at = self.finished_at = None
        self.status, self.status_by = status, actor


@dataclass
class Hold:
    """A claim that stands."""

    claim: str
    agent: str
    was_agent: Any
    lease: int
    expires_at: int


@dataclass
class State:
    """What can be seen of the state, versions and claims apart: those do not go back with an undo."""

    homes: dict[str, Home] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    memories: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> "State":
        return copy.deepcopy(self)

    def home_of(self, uid: str) -> Home:
        return next(home for home in self.homes.values() if uid in home.order)

    def in_progress(self, home: Home) -> list[str]:
        return [uid for uid in home.order if self.items[uid].status == "in_progress"]

    def waits_on(self, uid: str) -> int:
        found = [self.items.get(on) for on in self.items[uid].depends_on]
        return sum(1 for on in found if on is not None and on.status not in LETS_GO)

    def reaches(self, start: tuple, goal: str, everything: dict[str, Item]) -> bool:
        """Whether following dependencies from `start` leads to `goal`, over deleted tasks too."""
        seen, ahead = set(), list(start)
        while ahead:
            uid = ahead.pop()
            if uid == goal:
                return True
            if uid not in seen:
                seen.add(uid)
                ahead += everything[uid].depends_on if uid in everything else ()
        return False


class Model:
    """A state, the claims on it and what operations do to them.

    Each method returns the refusals that the protocol allows for the operation, none where it must be served, in which
    case the model has changed. `wrote` holds the uids of the tasks whose version goes up.
    """

    def __init__(self) -> None:
        self.state = State()
        self.holds: dict[str, Hold] = {}
        self.fenced: dict[str, set[str]] = {}
        self.versions: dict[str, int] = {}
        self.graveyard: dict[str, Item] = {}
        self.wrote: set[str] = set()
        self.made = 0
        self.now = 0

    def begin(self, now: int) -> None:
        self.wrote, self.now = set(), now

    def end(self) -> None:
        """One request raises the version of each task it changes by one."""
        for uid in self.wrote:
            self.versions[uid] = self.versions.get(uid, 0) + 1

    def unwritable(self, actor: str, uid: str) -> list[type]:
        if uid not in self.state.items:
            return [NotFound]
        if actor == HUMAN:
            return []
        if actor in self.fenced.get(uid, ()):
            return [StaleClaim]
        if uid in self.holds and self.holds[uid].agent != actor:
            return [Conflict]
        return []

    def second(self, home: Home, whose: str, but: str | None = None) -> list[type]:
        others = [uid for uid in self.state.in_progress(home) if uid != but] if home.solo else []
        return [Conflict] if any(self.state.items[uid].counts_for == whose for uid in others) else []

    def several(self, home: Home) -> bool:
        """Whether several tasks in progress of a list count for the same agent."""
        whose = [self.state.items[uid].counts_for for uid in self.state.in_progress(home)]
        return len(whose) > len(set(whose))

    def add(
        self, actor: str, uid: str | None, home_uid: str, beside: str | None, before: bool, fields: dict
    ) -> list[type]:
        """`uid` of None: only say what would refuse it."""
        state, refusals = self.state, []
        if beside is not None and beside not in state.items:
            return [NotFound, InvalidArgument] if fields.get("depends_on") else [NotFound]
        home = state.home_of(beside) if beside else state.homes[home_uid]
        if any(on not in state.items for on in fields.get("depends_on", ())):
            refusals.append(InvalidArgument)
        if fields.get("status") == "in_progress":
            refusals += self.second(home, fields.get("agent") or actor)
        if not refusals and uid is not None:
            self.made += 1
            state.items[uid] = Item(self.made, **fields)
            if fields.get("status", "pending") != "pending":
                state.items[uid].come_to(fields["status"], self.now, actor)
            home.order.insert(len(home.order) if beside is None else home.order.index(beside) + (not before), uid)
            self.wrote.add(uid)
            self.remember(uid)
        return refusals

    def edit(self, actor: str, uid: str, changes: dict) -> list[type]:
        state = self.state
        if refusals := self.unwritable(actor, uid):
            return refusals
        item = state.items[uid]
        starts = changes.get("status", item.status) == "in_progress" != item.status
        agent = changes.get("agent", item.agent)
        if starts or (agent != item.agent and changes.get("status", item.status) == "in_progress"):
            refusals += self.second(state.home_of(uid), agent or (actor if starts else item.status_by), uid)
        added = [on for on in changes.get("depends_on", ()) if on not in item.depends_on]
        if any(on not in state.items for on in added):
            refusals.append(NotFound)
        if state.reaches(tuple(changes.get("depends_on", ())), uid, {**self.graveyard, **state.items}):
            refusals.append(InvalidArgument)
        if refusals:
            return refusals
        changed = {name for name, value in changes.items() if not same(getattr(item, name), value)}
        for name in changed - {"status"}:
            setattr(item, name, changes[name])
        if "status" in changed:
            item.come_to(changes["status"], self.now, actor)
        if changed:
            self.wrote.add(uid)
        if "status" in changed and item.status != "in_progress":
            self.end_hold(actor, uid)
        if changed & {"status", "result"}:
            self.remember(uid)
        return []

    def remember(self, uid: str) -> None:
        item = self.state.items[uid]
        if item.status == "done" and item.result is not None:
            self.state.memories[uid] = item.result

    def move(self, actor: str, uid: str, home_uid: str, beside: str | None, before: bool) -> list[type]:
        state = self.state
        if refusals := self.unwritable(actor, uid):
            return refusals
        if beside is not None and beside not in state.items:
            return [NotFound]
        if beside == uid:
            return []
        home = state.home_of(beside) if beside else state.homes[home_uid]
        old = state.home_of(uid)
        item = state.items[uid]
        if home is not old and item.status == "in_progress" and (refusals := self.second(home, item.counts_for)):
            return refusals
        old.order.remove(uid)
        home.order.insert(len(home.order) if beside is None else home.order.index(beside) + (not before), uid)
        self.wrote.add(uid)
        return []

    def swap(self, actor: str, one: str, two: str) -> list[type]:
        if refusals := self.unwritable(actor, one) + self.unwritable(actor, two):
            return refusals
        home = self.state.home_of(one)
        if home is not self.state.home_of(two):
            return [InvalidArgument]
        if one != two:
            order = home.order
            at, to = order.index(one), order.index(two)
            order[at], order[to] = order[to], order[at]
            self.wrote |= {one, two}
        return []

    def delete(self, actor: str, uid: str) -> list[type]:
        if refusals := self.unwritable(actor, uid):
            return refusals
        self.state.home_of(uid).order.remove(uid)
        self.graveyard[uid] = self.state.items.pop(uid)
        self.end_hold(actor, uid)
        self.wrote.add(uid)
        return []

    def end_hold(self, actor: str, uid: str) -> None:
        hold = self.holds.pop(uid, None)
        if hold is not None and hold.agent != actor:
            self.fenced.setdefault(uid, set()).add(hold.agent)

    def clear(self, actor: str, home_uid: str) -> list[type]:
        uids = list(self.state.homes[home_uid].order)
        refusals = [refusal for uid in uids for refusal in self.unwritable(actor, uid)]
        if not refusals:
            for uid in uids:
                self.delete(actor, uid)
        return refusals

    def log(self, actor: str, uid: str, message: str) -> list[type]:
        if refusals := self.unwritable(actor, uid):
            return refusals
        self.state.items[uid].log.append(message)
        self.wrote.add(uid)
        return []

    def link(self, actor: str, uid: str, nodes: tuple) -> list[type]:
        if refusals := self.unwritable(actor, uid):
            return refusals
        item = self.state.items[uid]
        linked = tuple(dict.fromkeys((*item.node_ids, *nodes)))
        if linked != item.node_ids:
            item.node_ids = linked
            self.wrote.add(uid)
        return []

    def save(self, actor: str, uid: str, fields: dict) -> list[type]:
        if refusals := self.unwritable(actor, uid):
            return refusals
        item = self.state.items[uid]
        saved = {**(item.saved or {}), **fields, "agent": actor}
        if saved != item.saved:
            item.saved = saved
            self.wrote.add(uid)
        return []

    def next_ready(self, agent: str | None, homes: list[str], claimable: bool) -> str | None:
        state = self.state
        found = [
            uid
            for home_uid in homes
            for uid in state.homes[home_uid].order
            if state.items[uid].status == "pending"
            and not state.waits_on(uid)
            and (agent is None or state.items[uid].agent in (None, agent))
            and not (claimable and self.second(state.homes[home_uid], agent))
        ]
        return min(found, key=lambda uid: (state.items[uid].priority, state.items[uid].age), default=None)

    def claim(self, uid: str, hold: Hold) -> None:
        item = self.state.items[uid]
        item.come_to("in_progress", self.now, hold.agent)
        item.agent = hold.agent
        self.holds[uid] = hold
        self.fenced.get(uid, set()).discard(hold.agent)
        self.wrote.add(uid)

    def give_back(self, uid: str, *, fence: bool) -> None:
        item, hold = self.state.items[uid], self.holds.pop(uid)
        item.come_to("pending", self.now, SYSTEM if fence else hold.agent)
        if item.agent == hold.agent:
            item.agent = hold.was_agent
        if fence:
            self.fenced.setdefault(uid, set()).add(hold.agent)
        self.wrote.add(uid)


def same(one: Any, two: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return one == two and repr(one) == repr(two)


OF_A_ROW = Item.__dataclass_fields__.keys() - {"age", "log", "saved"}


@dataclass(eq=False)
class Change:
    """One change as history has it: the state on either side, and whether it still stands."""

    actor: str
    before: State
    after: State
    stands: bool = True


# At the end of a trail that has been lost: what stands on what is not known exactly any more.
LOST = Change("", State(), State())


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
    names = OF_A_ROW - {"started_at", "status_by", "finished_at"}
    return {
        (uid, name)
        for uid in before.keys() & after.keys()
        for name in names
        if getattr(before[uid], name) != getattr(after[uid], name)
    }
