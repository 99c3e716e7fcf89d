"""Caches lookups of the state as of one journal entry.

Every change of the state has an entry, and an entry's hash covers all entries before it. As long as the newest entry is
the same, the lookups are valid, also in the next transaction; a single request then needs half the statements.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.engine import open_checks
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task, TaskList

if TYPE_CHECKING:
    from tui_tasks.core.agent_names import Lookalikes
    from tui_tasks.core.agent_snapshots import Agent, Check, CheckDefinition, HumanMessage
    from tui_tasks.core.rules.recorded_settings import RecordedSettings

# The fields that determine a task's place.
_PLACE: Final = frozenset({"list_id", "rank", "deleted"})
# The most cached lookups together, so that requests with ever new names do not fill the memory.
_MAX_LOOKUPS: Final = 1_000


class StateCache:
    """Cached lookups. The task counts of a cached list may be outdated; `task_queries` has the current ones.

    Attributes:
        seq: the seq of the newest entry; 0 for an empty journal.
        hash: the hash of that entry.
        may_be_unfinished: whether a change made in steps may have been interrupted (`core.commit.unfinished_changes`).
    """

    def __init__(self, db: Database, seq: int, hash: bytes) -> None:
        self.seq, self.hash = seq, hash
        self._db = db
        self._lists: dict[int | str, TaskList] = {}
        self._handles: dict[str, TaskList | None] = {}
        self._agents: dict[str, Agent | None] = {}
        self._messages: dict[str, tuple[HumanMessage, ...]] = {}
        self._speakers: set[str] = set()
        self._lookalikes: Lookalikes | None = None
        self._next_ids: dict[str, int] = {}
        self._last_ranks: dict[int, str | None] = {}
        self._next_lapse: tuple[int | None] | None = None
        self.may_be_unfinished = True
        self._definitions: tuple[CheckDefinition, ...] | None = None
        self._recorded: tuple[RecordedSettings | None] | None = None
        self._reviewed: frozenset[str] | None = None
        self._has_rows: dict[str, bool] = {}

    def take_over(self, before: StateCache) -> None:
        """Keep what an outdated cache can read on from."""
        self._lookalikes = before._lookalikes

    @property
    def is_full(self) -> bool:
        """Whether the cache holds too many lookups and must be replaced."""
        kept: list[Sized] = [self._lists, self._handles, self._agents, self._messages, self._speakers, self._last_ranks]
        return sum(map(len, kept)) > _MAX_LOOKUPS

    def list_by_id(self, id: int) -> TaskList:
        """Return the list with that row id."""
        return self._lists.get(id) or self._cache_list(task_queries.list_by_id(self._db, id))

    def list_by_uid(self, uid: str) -> TaskList:
        """Return the list with that uid.

        Raises:
            NotFound: there is none.
        """
        return self._lists.get(uid) or self._cache_list(task_queries.list_by_uid(self._db, uid))

    def find_list(self, handle: str) -> TaskList | None:
        """Return the list with that name, else the plan with that id, else None."""
        if handle not in self._handles:
            home = task_queries.find_list(self._db, handle)
            self._handles[handle] = home and self._cache_list(home)
        return self._handles[handle]

    def _cache_list(self, task_list: TaskList) -> TaskList:
        self._lists[task_list.id] = task_list
        if not task_list.deleted:
            self._lists[task_list.uid] = task_list
        return task_list

    def agent(self, name: str) -> Agent | None:
        """Return what the human has set for an agent, such as a pause; None if nothing."""
        if name not in self._agents:
            if self._has_any("agent"):
                from tui_tasks.core.read import message_queries

                self._agents[name] = message_queries.agent(self._db, name)
            else:
                self._agents[name] = None
        return self._agents[name]

    def agent_like(self, name: str) -> str | None:
        """Return the agent that has spoken and whom a new agent's name would be taken for, or None."""
        if name in self._speakers:
            return None
        from tui_tasks.core import agent_names  # for the first request of an agent alone

        if agent_names.has_spoken(self._db, name):
            self._speakers.add(name)
            return None
        if self._lookalikes is None:
            self._lookalikes = agent_names.Lookalikes()
        return self._lookalikes.find(self._db, name, self.seq, self.hash)

    def messages_waiting_for(self, agent: str) -> tuple[HumanMessage, ...]:
        """Return the human's undelivered messages to an agent, in the order in which they were sent."""
        if agent not in self._messages:
            if self._has_any("human_message"):
                from tui_tasks.core.read import message_queries

                self._messages[agent] = message_queries.waiting(self._db, agent)
            else:
                self._messages[agent] = ()
        return self._messages[agent]

    @property
    def check_definitions(self) -> tuple[CheckDefinition, ...]:
        """The defined checks."""
        if self._definitions is None:
            if self._has_any("check_definition"):
                from tui_tasks.core.read import check_queries

                self._definitions = check_queries.definitions(self._db)
            else:
                self._definitions = ()
        return self._definitions

    @property
    def recorded_settings(self) -> RecordedSettings | None:
        """The settings file recorded with the database, and its policy for review."""
        if self._recorded is None:
            from tui_tasks.core.rules.recorded_settings import recorded  # for what the settings decide alone

            self._recorded = (recorded(self._db),)
        return self._recorded[0]

    @property
    def reviewed_lists(self) -> frozenset[str]:
        """Forms of the names of the lists that the human has put under review."""
        if self._reviewed is None:
            from tui_tasks.core.rules.tasks.held_rules import reviewed_lists  # for writes alone

            self._reviewed = reviewed_lists(self._db)
        return self._reviewed

    def checks_of(self, task: Task, home: TaskList) -> list[Check]:
        """Return the checks of a task in the list `home`, with their states."""
        if not (known := self.check_definitions) and not task.checks:
            return []
        from tui_tasks.core.read import check_queries  # for tasks with checks alone

        return check_queries.of_task(self._db, task, home, known)

    @property
    def has_work(self) -> bool:
        """Whether an agent was ever started on a task."""
        return self._has_any("work")

    def _has_any(self, table: str) -> bool:
        """Return whether a table has rows. The queries of one that many databases never use are imported only then."""
        if table not in self._has_rows:
            self._has_rows[table] = bool(self._db.scalar(f"SELECT EXISTS (SELECT 1 FROM {table})"))
        return self._has_rows[table]

    def works_of(self, task_uid: str) -> list[dict[str, Any]]:
        """Return the works of a task as the channel shows them, oldest first."""
        if not self.has_work:
            return []
        from tui_tasks.core.read import work_text  # for databases with work alone

        return work_text.json_of_task(self._db, task_uid)

    def next_id(self, entity: str, count: int = 1) -> int:
        """Return the next free row id of a table and reserve `count` ids from it."""
        number = self._next_ids.get(entity) or task_queries.next_id(self._db, entity)
        self._next_ids[entity] = number + count
        return number

    def last_rank(self, list_id: int) -> str | None:
        """Return the rank of a list's last task; None for an empty list."""
        if list_id not in self._last_ranks:
            self._last_ranks[list_id] = task_queries.last_rank(self._db, list_id)
        return self._last_ranks[list_id]

    @property
    def has_next_lapse(self) -> bool:
        """Whether `next_lapse` is cached."""
        return self._next_lapse is not None

    def next_lapse(self) -> int | None:
        """Return the database's instant (`database_clock`) at which the first lease ends; None without leases."""
        if self._next_lapse is None:
            self._next_lapse = (database_clock.next_lapse(self._db),)
        return self._next_lapse[0]

    def follow(self, entity: str, new: dict[str, Any]) -> None:
        """Invalidate the lookups that a write has changed; `follow_new_task` is for new tasks."""
        if entity == "task":
            if not _PLACE.isdisjoint(new):
                self._last_ranks.clear()
        elif entity == "list" and "ranks" in new:
            self._last_ranks.clear()
        elif entity == "list":
            self._lists.clear()
            self._handles.clear()
            self._reviewed = None
        elif entity == "agent":
            self._agents.clear()
            self._has_rows["agent"] = True
        elif entity == "human_message":
            self._messages.clear()
            self._has_rows["human_message"] = True
        elif entity in ("claim", "ask"):
            # No claim lapses while a question of its holder is open.
            self._next_lapse = None
        elif entity == "check_definition":
            self._definitions = None
            self._has_rows["check_definition"] = True
        elif entity == "settings":
            self._recorded = None
        elif entity == "work":
            self._has_rows["work"] = True

    def follow_new_task(self, task: Task) -> None:
        """Update the rank of the last task of a new task's list."""
        last = self._last_ranks.get(task.list_id, task.rank)
        if last is None or last < task.rank:
            self._last_ranks[task.list_id] = task.rank


def current_cache(db: Database, before: StateCache | None) -> StateCache:
    """Return the cache for the open transaction: `before` if the state is unchanged since, otherwise a new one.

    Raises:
        StorageFailed: a newer version of this program has upgraded the database.
    """
    head = journal.head(db)
    if before is not None and (before.seq, before.hash) == head and not before.is_full:
        return before
    open_checks.refuse_upgraded(db.scalar("PRAGMA user_version"), db.path)
    cache = StateCache(db, *head)
    if before is not None:
        cache.take_over(before)
    return cache
