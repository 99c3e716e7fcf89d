"""The rules of the state as plain Python, written from docs: protocol, sections 4 to 7, and the seeds.

Ids are names such as `task-3`, given in order of making; whoever compares the model with a program translates them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.dialects.model_state import (
    Change,
    Claim,
    Home,
    Memory,
    Refused,
    State,
    Step,
    Task,
    differences,
    orders,
)

HUMAN, SYSTEM = "human", "system"
LISTS_SAVED = ("files_modified", "completed_steps", "remaining_steps", "blockers", "decisions")
NOTHING_SAVED = {"approach": None, **{name: [] for name in LISTS_SAVED}, "context_snapshot": None}


class Model:
    """A state, what has happened to it, and the rules by which it changes.

    The methods that write raise `Refused`; `serve` then puts everything back.
    """

    def __init__(self) -> None:
        self.state = State()
        self.changes: list[Change] = []
        self.now = 0
        self.actor = ""
        self.steps = 0
        self._touched: set[str] = set()
        self._current = Change([], {}, {}, (0, 0))
        # Where the protocol leaves it open which place a task has: after an undo.
        self.loose: set[str] = set()
        self.exact: dict[int, list[str]] = {}
        # Section 5: these three work each on a list of that name.
        for dialect in ("tasklist", "task", "todo"):
            self.ensure(dialect, dialect)

    # Requests

    def begin(self, now: int) -> None:
        """A line has come: leases that are over end first."""
        self.now, self.loose, self.exact = now, set(), {}
        self.serve([(SYSTEM, self.lapse)], {})

    def serve(self, calls: list[tuple[str, Callable[[], Any]]], seqs: dict[str, tuple[int, int]]) -> list[Any]:
        """Run (actor, function) pairs, whole or not at all, and return their results: of each actor it is one change.

        `seqs` are the first and the last of each actor's entries. A `Refused` has the index of its request as `at`.
        """
        before, stood = self.state.copy(), [change.stands for change in self.changes]
        whole = self._current = Change([], {}, {}, (0, 0))
        parts: dict[str, Change] = {}
        results = []
        for at, (actor, run) in enumerate(calls):
            self.actor, self._touched = actor, set()
            was, undone = self.state.copy(), len(whole.undoes)
            try:
                results.append(run())
            except Refused as refused:
                self.state, self.loose, self.exact = before, set(), {}
                for known, stands in zip(self.changes, stood, strict=True):
                    known.stands = stands
                refused.at = at
                raise
            self.steps += 1
            step = Step(actor, differences(was, self.state), len(whole.undoes) > undone, self.steps)
            part = parts.setdefault(actor, Change([], {}, {}, seqs.get(actor, (0, 0))))
            part.undoes += whole.undoes[undone:]
            for change in (whole, part):
                change.steps.append(step)
        made = [part for part in parts.values() if part.touched()]
        if len(made) == 1:
            # Where several took part, the orders around are those of no one's part.
            made[0].before, made[0].after = orders(before), orders(self.state)
        self.changes += made
        return results

    # What the rules stand on

    def task(self, uid: str) -> Task:
        task = self.state.tasks.get(uid)
        if task is None or task.deleted:
            raise Refused("not_found", id=uid)
        return task

    def home_of(self, task: Task) -> Home:
        return self.state.homes[task.home]

    def unwritable(self, task: Task) -> list[str]:
        """Why the speaker may not write to a task (docs: protocol, section 7, `control:claim`)."""
        if self.actor in (HUMAN, SYSTEM):
            return []
        claim = self.state.claim_on(task.uid)
        stale = ["stale_claim"] if self.actor in self.state.fenced.get(task.uid, ()) else []
        return stale + (["conflict"] if claim is not None and claim.agent != self.actor else [])

    def writable(self, uid: str) -> Task:
        task = self.task(uid)
        if problems := self.unwritable(task):
            raise Refused(*problems)
        return task

    def touch(self, task: Task) -> None:
        """Each request that changes a task raises its version by one."""
        if task.uid not in self._touched:
            self._touched.add(task.uid)
            task.version += 1
        task.updated_at = self.now

    def refuse_second(self, home: Home, agent: str | None) -> None:
        """docs: protocol, section 5."""
        first = self.state.in_progress_for(home, agent) if home.solo else None
        if first is not None:
            raise Refused("conflict", in_progress=first.uid)

    # Lists and tasks

    def ensure(self, handle: str, dialect: str) -> Home:
        """A dialect's list, made at first use; one made by `tasklist` holds one in progress for each agent.

        See docs: protocol, section 5.
        """
        return self.state.find(handle) or self.make_home(handle, solo=dialect == "tasklist")

    def make_home(self, handle: str | None, **fields: Any) -> Home:
        age = self.state.number("home")
        home = Home(age, handle or f"plan-{self.state.number('plan')}", **fields)
        self.state.homes[age] = home
        return home

    def make_task(self, home: Home, name: str, at: int | None = None, **fields: Any) -> Task:
        held = home.review and self.actor not in (HUMAN, SYSTEM)
        if held and fields.get("status", "pending") != "pending":
            raise Refused("conflict", held=True)
        if held and sum(task.held and task.maker == self.actor and not task.deleted for task in self.everyone()) >= 25:
            raise Refused("conflict", held=True)
        fields |= {"held": held, "maker": self.actor}
        if fields.get("status") == "in_progress":
            self.refuse_second(home, fields.get("agent") or self.actor)
            fields["started_by"] = self.actor
        age = self.state.number("task")
        task = Task(f"task-{age}", age, home.age, name, self.now, updated_at=self.now, **fields)
        self._touched.add(task.uid)
        self.state.tasks[task.uid] = task
        home.order.insert(len(home.order) if at is None else at, task.uid)
        return task

    def edit(self, uid: str, **changes: Any) -> Task:
        """Set fields of a task; what is equal already changes nothing."""
        task = self.task(uid)
        problems = self.unwritable(task)
        status, agent = changes.get("status", task.status), changes.get("agent", task.agent)
        enters = status == "in_progress" and (status, agent) != (task.status, task.agent)
        whose = agent or (self.actor if status != task.status else task.started_by)
        home = self.home_of(task)
        if self.waits_for_human(task, {name for name, value in changes.items() if getattr(task, name) != value}):
            problems.append("conflict")
        elif enters and not self.state.may_take_more(home, whose):
            if not problems:
                self.refuse_second(home, whose)
            problems.append("conflict")
        if problems:
            raise Refused(*problems)
        self.set(task, **changes)
        return task

    def everyone(self) -> Iterable[Task]:
        """Every task there ever was."""
        return self.state.tasks.values()

    def waits_for_human(self, task: Task, names: set[str]) -> bool:
        """Whether a held task keeps these fields: none takes it up, and its words are its maker's (section 11)."""
        if not task.held or self.actor == HUMAN:
            return False
        return bool(names & {"status", "agent"}) or (bool(names) and self.actor not in (SYSTEM, task.maker))

    def accept(self, uid: str) -> None:
        """The human lets a task be taken up."""
        self.set(self.task(uid), held=False)

    def set(self, task: Task, **changes: Any) -> None:
        if changes.get("status", task.status) != task.status and changes["status"] in ("pending", "in_progress"):
            changes.setdefault("started_by", self.actor if changes["status"] == "in_progress" else None)
        changes = {name: value for name, value in changes.items() if getattr(task, name) != value}
        for name, value in changes.items():
            setattr(task, name, value)
        if changes:
            self.touch(task)
        claim = self.state.claim_on(task.uid)
        if claim is not None and (task.status != "in_progress" or task.deleted):
            claim.stands = False
            if self.actor != claim.agent:
                self.state.fenced.setdefault(task.uid, set()).add(claim.agent)
        if changes.keys() & {"status", "result"}:
            self.remember(task)

    def remember(self, task: Task) -> None:
        """A memory is saved when a task comes to be completed with a result (docs: protocol, section 6, `task`)."""
        if task.status != "done" or task.result is None:
            return
        new = {"title": task.name, "domain": task.domain, "content": task.result}
        known = self.state.memories.get(task.uid)
        if known is None or {name: getattr(known, name) for name in new} != new:
            age = known.age if known else self.state.number("memory")
            uid = f"memory-of-{task.uid}"
            self.state.memories[task.uid] = Memory(uid, age, task.uid, **new, updated_at=self.now)

    def delete(self, uid: str) -> Task:
        task = self.writable(uid)
        if self.waits_for_human(task, {"deleted"}):
            raise Refused("conflict", held=True)
        self.home_of(task).order.remove(uid)
        self.set(task, deleted=True)
        return task

    def swap(self, one: str, two: str) -> list[Task]:
        tasks = [task for uid in (one, two) if (task := self.state.tasks.get(uid)) and not task.deleted]
        problems = [problem for task in tasks for problem in self.unwritable(task)]
        if len(tasks) < 2:
            problems.append("not_found")
        elif tasks[0].home != tasks[1].home:
            problems.append("invalid_argument")
        if problems:
            raise Refused(*problems)
        order = self.home_of(tasks[0]).order
        if one != two:
            places = order.index(one), order.index(two)
            order[places[0]], order[places[1]] = two, one
            for task in tasks:
                self.moved(task)
        return sorted(tasks, key=lambda task: order.index(task.uid))

    def moved(self, task: Task) -> None:
        task.moves += 1
        self.touch(task)

    def log(self, uid: str, message: str) -> tuple[int, str]:
        task = self.writable(uid)
        task.log[self.state.number("log")] = (self.now, message)
        self.touch(task)
        return self.now, message

    def save(self, uid: str, agent: str, fields: dict[str, Any]) -> dict[str, Any]:
        """A field left out keeps its last saved value (docs: protocol, section 6, `tasks`, `save_state`)."""
        task = self.writable(uid)
        known = task.saved or NOTHING_SAVED
        saved = {**known, **fields, "agent_id": agent}
        if saved != task.saved:
            task.saved = {**saved, "at": self.now}
            self.touch(task)
        assert task.saved is not None
        return task.saved

    # Claims

    def claim(self, homes: list[Home], lease: int) -> Claim | None:
        """The next task, as `suggest_next` would have it, where the speaker may have one more in progress."""
        state = self.state
        open_to = [task for home in homes if state.may_take_more(home, self.actor) for task in state.in_order(home)]
        task = state.ready(task for task in open_to if task.agent in (None, self.actor))
        return None if task is None else self._take(task, lease)

    def claim_one(self, uid: str, lease: int) -> Claim:
        """A task of the speaker's choice."""
        task = self.task(uid)
        home = self.home_of(task)
        if task.status != "pending" or self.state.blocked(task) or not self.state.may_take_more(home, self.actor):
            raise Refused("conflict")
        return self._take(task, lease)

    def _take(self, task: Task, lease: int) -> Claim:
        state = self.state
        claim = Claim(
            f"claim-{state.number('claim')}", task.uid, self.actor, task.agent, lease, expires_at=self.now + lease
        )
        self.set(task, status="in_progress", agent=self.actor)
        state.claims[claim.uid] = claim
        state.fenced.get(task.uid, set()).discard(self.actor)
        return claim

    def standing(self, uid: str) -> Claim:
        claim = self.state.claims.get(uid)
        if claim is None or claim.agent != self.actor:
            raise Refused("not_found", id=uid)
        if not claim.stands:
            raise Refused("stale_claim", id=uid)
        return claim

    def give_back(self, claim: Claim) -> Task:
        task = self.state.tasks[claim.task]
        agent = claim.was_agent if task.agent == claim.agent else task.agent
        self.set(task, status="pending", agent=agent)
        return task

    def lapse(self) -> None:
        for claim in self.state.claims.values():
            if claim.stands and claim.expires_at <= self.now:
                self.give_back(claim)
                self.state.fenced.setdefault(claim.task, set()).add(claim.agent)

    # Taking back

    def newest(self) -> Change | None:
        """The speaker's newest change that stands, an undo apart."""
        mine = (change for change in reversed(self.changes) if self.actor in change.actors)
        return next((change for change in mine if change.stands), None)

    def undo(self, change: Change | None, *, was_refused: bool = False) -> int:
        """docs: protocol, section 7, `control:undo`; return the seq of what was taken back.

        What is to be where the speaker has changed the same in the same batch is left open: `was_refused` says it.
        """
        if change is None:
            raise Refused("conflict")
        self._refuse_if_touched(change)
        about = {uid for _, uid, _ in change.touched()}
        if was_refused and any(uid in about for step in self._current.steps for _, uid, _ in step.diff):
            raise Refused("conflict")
        for age, order in change.after.items():
            if age in change.before and self.state.homes[age].order == order:
                self.exact[age] = change.before[age]
        for step in reversed(change.steps):
            self._take_back(step)
        if any(map(self.state.breaks_rule, self.state.living())):
            raise Refused("conflict")
        change.stands = False
        for undone in change.undoes:
            undone.stands = True
        self._current.undoes.append(change)
        return change.seqs[1]

    def _refuse_if_touched(self, change: Change) -> None:
        keys = change.touched()
        problems: list[str] = []
        others = [step for other in (*self.changes, self._current) if other.stands for step in other.steps]
        for own, step in itertools.product(change.steps, others):
            if step.number > own.number and step.actor != self.actor and not step.is_undo:
                whole = {uid for kind, uid, name in own.diff if kind == "task" and name in ("made", "deleted")}
                about = {uid for kind, uid, _ in step.diff if kind != "home"}
                problems += ["conflict"] if step.diff.keys() & own.diff.keys() or about & whole else []
        for uid in {uid for kind, uid, _ in keys if kind in ("task", "log", "saved")}:
            task = self.state.tasks[uid]
            if task.deleted and not {("task", uid, "deleted"), ("task", uid, "made")} & keys:
                problems.append("conflict")
            if not task.deleted:
                problems += self.unwritable(task)
        if problems:
            raise Refused(*problems)

    def _take_back(self, step: Step) -> None:
        state, diff = self.state, step.diff
        fields: dict[str, dict[str, Any]] = {}
        for age in [age for kind, age, name in diff if kind == "home" and name == "gone"]:
            if not state.homes[age].is_plan and state.find(state.homes[age].handle):
                raise Refused("conflict")
            state.homes[age].gone = False
        for (kind, uid, name), (old, new) in diff.items():
            if kind == "memory" and old is None:
                state.memories.pop(uid)
            elif kind == "memory" and (new is not None or ("task", uid, "status") not in diff):
                # One that an undo took away is saved anew when the task is completed again.
                state.memories[uid] = old
            elif kind == "log":
                state.tasks[uid].log.pop(name) if old is None else state.tasks[uid].log.update({name: old})
                self.touch(state.tasks[uid])
            elif kind == "saved":
                state.tasks[uid].saved = old
                self.touch(state.tasks[uid])
            elif kind == "task":
                fields.setdefault(uid, {})["deleted" if name == "made" else name] = True if name == "made" else old
        for uid, values in fields.items():
            self._put_back(state.tasks[uid], values)
        for uid, name in [(uid, name) for kind, uid, name in diff if kind == "claim"]:
            self._restore_claim(state.claims[name], state.tasks[uid])
        for home in [state.homes[age] for kind, age, name in diff if kind == "home" and name == "made"]:
            if home.order and home.is_plan:
                raise Refused("conflict")
            home.gone = not home.order

    def _restore_claim(self, claim: Claim, task: Task) -> None:
        """A task that goes on is its holder's again, for what is left of the lease."""
        if task.status == "in_progress" and not task.deleted and self.state.claim_on(task.uid) is None:
            claim.stands = True
            self.state.fenced.get(task.uid, set()).discard(claim.agent)

    def _put_back(self, task: Task, values: dict[str, Any]) -> None:
        home = self.home_of(task)
        if "moves" in values:
            values["moves"] = task.moves + 1
            self.loose.add(task.uid)
        if values.get("deleted") is True and not task.deleted:
            home.order.remove(task.uid)
        if values.get("deleted") is False:
            keys = [other.key for other in self.state.in_order(home)]
            if home.gone or (task.key is not None and task.key in keys):
                raise Refused("conflict")
            home.order.append(task.uid)
            self.loose.add(task.uid)
        self.set(task, **values)

    def place(self, home: Home, seen: list[str]) -> None:
        """Take over the order of a list that was seen, which may differ where an undo has put tasks."""
        stay = [uid for uid in home.order if uid not in self.loose]
        assert sorted(seen) == sorted(home.order)
        assert [uid for uid in seen if uid not in self.loose] == stay, "others have changed their places"
        if home.age in self.exact:
            assert seen == self.exact[home.age], "not back in its place though nothing of the list was changed since"
        home.order = list(seen)


@dataclass
class Seen:
    """What was seen of the reply where the protocol leaves more than one right."""

    ok: bool
    moved: set[str]


@dataclass
class Call:
    """One request to the model. `bound` is the list it is bound to, by its handle."""

    model: Model
    agent: str
    bound: str | None
    seen: Seen

    @property
    def state(self) -> State:
        return self.model.state

    def home(self, dialect: str) -> Home | None:
        return self.state.find(self.bound or dialect)

    def own(self, dialect: str) -> list[Task]:
        home = self.home(dialect)
        return self.state.in_order(home) if home else []

    def made(self, dialect: str) -> Home:
        return self.model.ensure(self.bound or dialect, dialect)
