"""A state as plain Python: what there is to a task, a list, a claim (docs: protocol, sections 4, 5 and 7)."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# What holds nobody up (docs: protocol, section 6, `tasks`, `pending`).
RELEASING = {"done", "skipped", "cancelled"}


class Refused(Exception):
    """The request is refused with one of `codes`; nothing is written. `data` is what the error's data must hold."""

    def __init__(self, *codes: str, **data: Any) -> None:
        super().__init__(*codes)
        self.codes = set(codes)
        self.at = 0
        self.data = data if len(self.codes) == 1 else {}


@dataclass
class Home:
    """A list: `solo` says that at most one of its tasks may be in progress for each agent."""

    age: int
    handle: str
    solo: bool = False
    is_plan: bool = False
    title: str = ""
    description: str = ""
    agent: str | None = None
    order: list[str] = field(default_factory=list)
    gone: bool = False
    # Whether what agents make here waits for the human.
    review: bool = False


@dataclass
class Task:
    uid: str
    age: int
    home: int
    name: str
    created_at: int
    description: str = ""
    status: str = "pending"
    priority: int = 3
    tags: list[str] = field(default_factory=list)
    domain: str | None = None
    result: Any = None
    metadata: Any = None
    agent: str | None = None
    intent: str | None = None
    depends_on: list[str] = field(default_factory=list)
    node_ids: list[str] = field(default_factory=list)
    key: str | None = None
    due: str | None = None
    estimate: int | None = None
    links: list[dict[str, str]] = field(default_factory=list)
    version: int = 1
    updated_at: int = 0
    log: dict[int, tuple[int, str]] = field(default_factory=dict)
    saved: dict[str, Any] | None = None
    deleted: bool = False
    held: bool = False
    maker: str = ""
    # How often it was given another place.
    moves: int = 0
    # Who set it in progress.
    started_by: str | None = None

    @property
    def counts_for(self) -> str | None:
        return self.agent or self.started_by


@dataclass
class Memory:
    uid: str
    age: int
    task: str
    title: str
    domain: str | None
    content: Any
    updated_at: int


@dataclass
class Claim:
    uid: str
    task: str
    agent: str
    was_agent: str | None
    lease: int
    expires_at: int
    stands: bool = True


@dataclass
class State:
    homes: dict[int, Home] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    # By task, the agents whose claim on it has lapsed.
    fenced: dict[str, set[str]] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)

    def copy(self) -> State:
        return pickle.loads(pickle.dumps(self))

    def number(self, kind: str) -> int:
        self.made[kind] = self.made.get(kind, 0) + 1
        return self.made[kind]

    def living(self) -> list[Home]:
        return [home for home in self.homes.values() if not home.gone]

    def find(self, handle: str) -> Home | None:
        return next((home for home in self.living() if home.handle == handle), None)

    def in_order(self, home: Home) -> list[Task]:
        return [self.tasks[uid] for uid in home.order]

    def everything(self) -> list[Task]:
        """Every task, in the order of lists (oldest first) and places."""
        return [task for home in self.living() for task in self.in_order(home)]

    def blocked(self, task: Task) -> bool:
        found = [self.tasks[on] for on in task.depends_on]
        return task.held or any(not on.deleted and on.status not in RELEASING for on in found)

    def ready(self, tasks: Iterable[Task]) -> Task | None:
        """What `suggest_next` suggests of some tasks."""
        found = [task for task in tasks if task.status == "pending" and not self.blocked(task)]
        return min(found, key=lambda task: (task.priority, task.age), default=None)

    def claim_on(self, uid: str) -> Claim | None:
        return next((claim for claim in self.claims.values() if claim.stands and claim.task == uid), None)

    def count(self, home: Home, status: str) -> int:
        return sum(task.status == status for task in self.in_order(home))

    def in_progress_for(self, home: Home, agent: str | None) -> Task | None:
        found = (task for task in self.in_order(home) if task.status == "in_progress" and task.counts_for == agent)
        return next(found, None)

    def may_take_more(self, home: Home, agent: str | None) -> bool:
        return not home.solo or self.in_progress_for(home, agent) is None

    def breaks_rule(self, home: Home) -> bool:
        whose = [task.counts_for for task in self.in_order(home) if task.status == "in_progress"]
        return home.solo and len(whose) > len(set(whose))


FIELDS = (
    *("name", "description", "status", "priority", "tags", "domain", "result", "metadata"),
    *(
        "agent",
        "intent",
        "depends_on",
        "node_ids",
        "due",
        "estimate",
        "links",
        "deleted",
        "held",
        "moves",
        "started_by",
    ),
)
Key = tuple[str, Any, Any]
Diff = dict[Key, tuple[Any, Any]]


def differences(old: State, new: State) -> Diff:
    """What became of what, as far as it can be taken back: of claims, that they have ended."""
    found: Diff = {}
    for claim in old.claims.values():
        if claim.stands and not new.claims[claim.uid].stands:
            found["claim", claim.task, claim.uid] = (True, False)
    for uid, task in new.tasks.items():
        was = old.tasks.get(uid)
        if was is None:
            found["task", uid, "made"] = (None, None)
            was = Task(**{**vars(task), "log": {}, "saved": None})
        for name in FIELDS:
            if getattr(was, name) != getattr(task, name):
                found["task", uid, name] = (getattr(was, name), getattr(task, name))
        for number in was.log.keys() ^ task.log.keys():
            found["log", uid, number] = (was.log.get(number), task.log.get(number))
        if was.saved != task.saved:
            found["saved", uid, ""] = (was.saved, task.saved)
    for uid in old.memories.keys() | new.memories.keys():
        pair = (old.memories.get(uid), new.memories.get(uid))
        if pair[0] != pair[1]:
            found["memory", uid, ""] = pair
    for age, home in new.homes.items():
        if age not in old.homes:
            found["home", age, "made"] = (None, None)
        elif old.homes[age].gone != home.gone:
            found["home", age, "gone"] = (old.homes[age].gone, home.gone)
    return found


@dataclass
class Step:
    """What one request changed."""

    actor: str
    diff: Diff
    is_undo: bool
    # Steps are numbered one after the other, whatever they are part of.
    number: int


@dataclass(eq=False)
class Change:
    """One actor's request, or part of a batch, as history has it, with what it has taken back.

    `before` and `after` are the orders of lists around it, where they are known.
    """

    steps: list[Step]
    before: dict[int, list[str]]
    after: dict[int, list[str]]
    # The first and the last of its entries in the journal.
    seqs: tuple[int, int]
    undoes: list[Change] = field(default_factory=list)
    stands: bool = True

    @property
    def actors(self) -> set[str]:
        """Whose change it is: an undo is none to be taken back by itself."""
        return {step.actor for step in self.steps if step.diff and not step.is_undo}

    def touched(self) -> set[Key]:
        return {key for step in self.steps for key in step.diff}


def orders(state: State) -> dict[int, list[str]]:
    return {home.age: list(home.order) for home in state.living()}
