"""A question that names no task is about the one on which its agent was at work when it asked, whatever came later."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Clock
from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, ClaimTask, EditTask, EnsureList
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import last_words
from tui_tasks.core.store import Store

ME, OTHER = "claude-1", "codex-1"


class Talking:
    """Tasks `1` and `2`, and what agents do to them; each write at the same instant, as within one microsecond."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._list = self.write("human", EnsureList("tasklist", "tasklist")).uid
        self.tasks = []
        for name in ("One", "Two"):
            self.add("human", name)

    def write(self, who: str, operation: Any) -> Any:
        return self._store.commit(operation, actor=who, now=self._clock())[0]

    def add(self, who: str, name: str, status: str = "pending") -> None:
        self.tasks.append(self.write(who, AddTask(name, self._list, status=status)).uid)

    def edit(self, who: str, number: int, **fields: Any) -> None:
        self.write(who, EditTask(self.tasks[number - 1], fields))

    def ask(self, task: str | None = None) -> Any:
        return self.write(ME, OpenAsk("Which one?", task_uid=task))

    def about(self, ask: Any) -> int | None:
        """Return the number of the task that a question is about."""
        db = self._store.db
        task = ask_queries.asked_about(db, [ask], last_words.working(db)).get(ask.uid)
        return None if task is None else self.tasks.index(task) + 1


@pytest.fixture
def talking(store: Store, clock: Clock) -> Talking:
    return Talking(store, clock)


def test_it_stays_about_a_task_that_its_agent_has_done_since_and_not_about_the_next(talking):
    talking.write(ME, ClaimTask(ME, 300_000_000, talking.tasks[0]))
    ask = talking.ask()
    talking.edit(ME, 1, status="done")
    talking.write(ME, ClaimTask(ME, 300_000_000, talking.tasks[1]))
    assert talking.about(ask) == 1


@pytest.mark.parametrize("later", [{"status": "pending"}, {"agent": OTHER}, {"status": "failed"}])
def test_it_stays_about_a_task_that_is_taken_from_its_agent(talking, later):
    talking.edit(ME, 1, status="in_progress", agent=ME)
    ask = talking.ask()
    talking.edit("human", 1, **later)
    talking.edit(ME, 2, status="in_progress", agent=ME)
    assert talking.about(ask) == 1


def test_it_is_about_none_where_its_agent_had_none(talking):
    ask = talking.ask()
    talking.edit(ME, 1, status="in_progress", agent=ME)
    assert talking.about(ask) is None


def test_a_task_that_was_another_agents_then_is_not_taken_for_its_own(talking):
    talking.edit(OTHER, 1, status="in_progress", agent=OTHER)
    ask = talking.ask()
    talking.edit("human", 1, agent=ME)
    assert talking.about(ask) is None


def test_a_task_begun_before_and_given_back_before_it_asked_is_not_meant(talking):
    talking.edit(ME, 1, status="in_progress", agent=ME)
    talking.edit(ME, 1, status="pending")
    assert talking.about(talking.ask()) is None


def test_a_task_that_the_human_has_given_it_is_meant_before_and_after_it_writes_to_that(talking):
    talking.edit("human", 1, status="in_progress", agent=ME)
    ask = talking.ask()
    assert talking.about(ask) == 1
    talking.edit(ME, 1, status="done")
    assert talking.about(ask) == 1


def test_a_task_that_another_agent_has_put_into_its_hands_is_not_meant(talking):
    talking.edit(OTHER, 1, status="in_progress", agent=ME)
    assert talking.about(talking.ask()) is None


def test_one_in_progress_without_an_agent_counts_for_who_set_it(talking):
    talking.edit(ME, 1, status="in_progress")
    ask = talking.ask()
    talking.edit(OTHER, 1, description="more")
    assert talking.about(ask) == 1


def test_a_task_made_in_progress_is_meant(talking):
    talking.add(ME, "Three", status="in_progress")
    assert talking.about(talking.ask()) == 3


def test_the_named_task_is_meant_whatever_its_agent_works_on(talking):
    talking.edit(ME, 1, status="in_progress", agent=ME)
    assert talking.about(talking.ask(talking.tasks[1])) == 2


def test_a_command_that_asks_is_not_about_the_task_that_was_started_in_a_shell(talking):
    talking.add("shell", "Three", "in_progress")
    assert talking.about(talking.write("shell", OpenAsk("`tui-tasks compact`: Do it?"))) is None


def test_a_question_is_found_that_was_asked_after_the_clock_was_set_back(talking, clock):
    talking.add(ME, "Three", "in_progress")
    clock.forward(-1_000)
    ask = talking.ask()
    clock.forward(2_000)
    talking.add("human", "Four")
    assert talking.about(ask) == 3


def test_the_states_of_tasks_are_read_once_for_many_questions(talking, store, monkeypatch):
    for number in range(40):
        talking.add(ME, f"Near {number}")
    asks = [talking.ask() for _ in range(20)]
    reads, one = [], Database.one

    def counted(db: Database, statement: Any, **values: Any) -> Any:
        reads.append(values)
        return one(db, statement, **values)

    monkeypatch.setattr(Database, "one", counted)
    assert ask_queries.asked_about(store.db, asks, {}) == {}
    # Some find each question by its instant.
    assert len([values for values in reads if values.keys() == {"seq"}]) < 40 + 20 * 10
    assert not [values for values in reads if "task" in values]
