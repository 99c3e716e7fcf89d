"""What has been looked up of the state, as it is after one entry of the journal.

Every change of the state has an entry, and an entry's hash is over all before it: as long as the newest is the same,
what was looked up still holds, also in the next transaction. For one request alone that is half of its statements.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Final

from tui_tasks.core import elapsed
from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import journal
from tui_tasks.core.read import checks, messages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Agent, Check, CheckDefinition, HumanMessage, Task, TaskList

# The fields that say where a task stands.
_PLACE: Final = frozenset({"list_id", "rank", "deleted"})
# Of all that is kept, a list by each of its names; whoever makes up a name for each request shall not fill the memory.
_MOST: Final = 1_000


class StateCache:
    """Lookups that are made once. A list's counts are those of then: who needs them asks `queries`.

    Attributes:
        seq: the newest entry; 0 where there is none.
        hash: its hash.
        may_be_unfinished: whether a change made in steps may have been interrupted (`core.unfinished`).
    """

    def __init__(self, db: Database, seq: int, hash: bytes) -> None:
        self.seq, self.hash = seq, hash
        self._db = db
        self._lists: dict[int | str, TaskList] = {}
        self._handles: dict[str, TaskList | None] = {}
        self._agents: dict[str, Agent | None] = {}
        self._messages: dict[str, tuple[HumanMessage, ...]] = {}
        self._next_ids: dict[str, int] = {}
        self._last_ranks: dict[int, str | None] = {}
        self._next_lapse: tuple[int | None] | None = None
        self.may_be_unfinished = True
        self._definitions: tuple[CheckDefinition, ...] | None = None

    @property
    def is_full(self) -> bool:
        """Whether it is better begun anew."""
        kept: tuple[Sized, ...] = (self._lists, self._handles, self._agents, self._messages, self._last_ranks)
        return sum(map(len, kept)) > _MOST

    def list_by_id(self, id: int) -> TaskList:
        """The list of that number."""
        return self._lists.get(id) or self._keep(queries.list_by_id(self._db, id))

    def list_by_uid(self, uid: str) -> TaskList:
        """The list with that uid.

        Raises:
            NotFound: there is none.
        """
        return self._lists.get(uid) or self._keep(queries.list_by_uid(self._db, uid))

    def find_list(self, handle: str) -> TaskList | None:
        """The list of that name, else the plan of that id, else None."""
        if handle not in self._handles:
            found = queries.find_list(self._db, handle)
            self._handles[handle] = found and self._keep(found)
        return self._handles[handle]

    def _keep(self, found: TaskList) -> TaskList:
        self._lists[found.id] = found
        if not found.deleted:
            self._lists[found.uid] = found
        return found

    def agent(self, name: str) -> Agent | None:
        """What the human has said about an agent."""
        if name not in self._agents:
            self._agents[name] = queries.agent(self._db, name)
        return self._agents[name]

    def messages_waiting_for(self, agent: str) -> tuple[HumanMessage, ...]:
        """The human's messages that have not reached an agent yet, in the order in which they were sent."""
        if agent not in self._messages:
            self._messages[agent] = messages.waiting(self._db, agent)
        return self._messages[agent]

    @property
    def check_definitions(self) -> tuple[CheckDefinition, ...]:
        """The checks that there are."""
        if self._definitions is None:
            self._definitions = checks.definitions(self._db)
        return self._definitions

    def checks_of(self, task: Task, home: TaskList) -> list[Check]:
        """The checks that a task of a list has, and what is known of each."""
        return checks.of_task(self._db, task, home, self.check_definitions)

    def next_id(self, entity: str, count: int = 1) -> int:
        """The number of the next row of a table, or the first of `count`."""
        number = self._next_ids.get(entity) or queries.next_id(self._db, entity)
        self._next_ids[entity] = number + count
        return number

    def last_rank(self, list_id: int) -> str | None:
        """The rank of a list's last task."""
        if list_id not in self._last_ranks:
            self._last_ranks[list_id] = queries.last_rank(self._db, list_id)
        return self._last_ranks[list_id]

    @property
    def has_next_lapse(self) -> bool:
        """Whether `next_lapse` was looked up."""
        return self._next_lapse is not None

    def next_lapse(self) -> int | None:
        """The database's own instant (`elapsed`) at which the first standing lease is over."""
        if self._next_lapse is None:
            self._next_lapse = (elapsed.next_lapse(self._db),)
        return self._next_lapse[0]

    def follow(self, entity: str, old: dict[str, Any] | None, new: dict[str, Any]) -> None:
        """Look up anew what a write has changed."""
        if entity == "task":
            self._follow_task(old, new)
        elif entity == "list" and "ranks" in new:
            self._last_ranks.clear()
        elif entity == "list":
            self._lists.clear()
            self._handles.clear()
        elif entity == "agent":
            self._agents.clear()
        elif entity == "human_message":
            self._messages.clear()
        elif entity == "claim":
            self._next_lapse = None
        elif entity == "check_definition":
            self._definitions = None

    def _follow_task(self, old: dict[str, Any] | None, new: dict[str, Any]) -> None:
        if old is not None:
            if not _PLACE.isdisjoint(new):
                self._last_ranks.clear()
        elif new["list_id"] in self._last_ranks:
            self._last_ranks[new["list_id"]] = max(self._last_ranks[new["list_id"]] or "", new["rank"])


def still_known(db: Database, before: StateCache | None) -> StateCache:
    """What is known in the transaction that is open: what was, where the state is as it was then."""
    head = journal.head(db)
    if before is not None and (before.seq, before.hash) == head and not before.is_full:
        return before
    return StateCache(db, *head)
