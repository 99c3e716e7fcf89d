"""Which tasks of a list match the terms of a filter."""

import pytest

from tests.conftest import SECOND, START
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read import unseen_changes
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.task_filter import Filter, Term
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.unjournaled import local_values


@pytest.fixture
def matching(store):
    """Return the names of the tasks that match terms, in order."""
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="human", now=START)
    operations = [
        AddTask("a 100%_x", home.uid, "The login page", priority=1, agent="ann", tags=("auth", 'a"b'), domain="web"),
        AddTask("b", home.uid, priority=4, domain="web_2"),
        AddTask("c", home.uid, priority=7),
        AddTask("d", home.uid, "log in", status="in_progress", priority=3, tags=("author",)),
    ]
    tasks = store.commit(*operations, actor="human", now=START)
    store.commit(EditTask(tasks[2].uid, {"depends_on": (tasks[0].uid,)}), actor="human", now=START)
    store.commit(EditTask(tasks[1].uid, {"status": "done", "description": "new"}), actor="bob", now=START + SECOND)
    store.commit(LogTask(tasks[1].uid, "thanks"), actor="ann", now=START + SECOND)

    def names(*terms: Term, looked: int | None = None) -> str:
        if looked is not None:
            local_values.put(store.db, local_values.LOOKED, {"seq": looked, "at": START})
        only = Filter(terms, lambda: unseen_changes.since_looked(store.db))
        page = list_pages.after(store.db, home.id, list_pages.FIRST, 10, only)
        return " ".join(task.name[0] for task in page)

    return names


@pytest.mark.parametrize(
    ("term", "names"),
    [
        (Term("word", "login"), "a"),
        (Term("word", "LOG"), "a d"),
        (Term("word", "0%_"), "a"),
        (Term("word", "0%x"), ""),
        (Term("word", "UTHO"), "d"),
        (Term("word", "auth", negated=True), "b c"),
        (Term("word", '","'), ""),
        (Term("word", "["), ""),
        (Term("word", "log", negated=True), "b c"),
        (Term("prio", "urgent"), "a"),
        (Term("prio", "medium"), "d"),
        (Term("prio", "low"), "b c"),
        (Term("prio", "low", negated=True), "a d"),
        (Term("who", "ann"), "a"),
        (Term("who", "ANN"), "a"),
        (Term("who", "an"), ""),
        (Term("who", "an", prefix=True), "a"),
        (Term("who", "_nn"), ""),
        (Term("who", "bob"), "b"),
        (Term("who", "human"), "d"),
        (Term("who", "bob", negated=True), "a c d"),
        (Term("tag", "auth"), "a"),
        (Term("tag", "auth", prefix=True), "a d"),
        (Term("tag", "uth", prefix=True), ""),
        (Term("tag", 'a"b'), "a"),
        (Term("tag", "auth", negated=True), "b c d"),
        (Term("domain", "web"), "a"),
        (Term("domain", "web", prefix=True), "a b"),
        (Term("domain", "web_", prefix=True), "b"),
        (Term("domain", "web", negated=True), "b c d"),
        (Term("status", "open"), "a c d"),
        (Term("status", "pending"), "a c"),
        (Term("status", "blocked"), "c"),
        (Term("status", "done", negated=True), "a c d"),
    ],
    ids=str,
)
def test_a_term_matches(matching, term, names):
    assert matching(term) == names


def test_of_several_terms_on_a_field_any_matches_but_all_words_and_tags_do(matching):
    assert matching(Term("status", "done"), Term("status", "in_progress")) == "b d"
    assert matching(Term("status", "pending"), Term("prio", "low")) == "c"
    assert matching(Term("word", "log"), Term("word", "page")) == "a"
    assert matching(Term("tag", "auth"), Term("tag", "author")) == ""
    assert matching(Term("prio", "urgent", negated=True), Term("prio", "low", negated=True)) == "d"


def test_changed_is_what_others_than_the_human_have_changed_since_a_look(matching, store):
    (newest,) = store.db.sql("SELECT max(seq) FROM journal").fetchone()
    assert matching(Term("status", "changed")) == ""
    assert matching(Term("status", "changed"), looked=0) == "b"
    assert matching(Term("status", "changed"), looked=newest - 1) == "b", "it was logged alone"
    assert matching(Term("status", "changed"), looked=newest) == ""
    uid = next(task.uid for task in task_queries.tasks(store.db, 1) if task.name[0] == "a")
    store.commit(LogTask(uid, "on it"), actor="ann", now=START + SECOND)
    store.commit(EditTask(uid, {"priority": 2}), actor="human", now=START + SECOND)
    assert matching(Term("status", "changed")) == "a", "the human has edited it after that"
    assert matching(Term("status", "changed", negated=True)) == "b c d"
    store.commit(DeleteTask(uid), actor="human", now=START + SECOND)
    assert unseen_changes.since_looked(store.db) == []
