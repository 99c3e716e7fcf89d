"""The links of a task: their words, filters, undo and replay."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import START
from tui_tasks.core.errors import Conflict
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.task_filter import Filter, Term
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema import task_fields, task_links

NOW = datetime(2026, 1, 28, tzinfo=UTC)
LINKS = task_fields.FIELDS["links"]


def checked_or_none(kind: str, target: str):
    try:
        return task_links.checked(kind, target)
    except ValueError:
        return None


ANY_LINKS = st.lists(
    st.builds(
        checked_or_none, st.sampled_from(task_links.KINDS), st.text(max_size=30) | st.from_regex(r"[a-f0-9]{7}")
    ).filter(bool),
    max_size=4,
).map(task_links.joined)


@given(links=ANY_LINKS)
def test_what_is_written_of_links_is_read_again(links):
    assert LINKS.parse(LINKS.write(links, NOW), NOW) == links
    assert LINKS.from_json([dict(link) for link in links], NOW) == links


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("branch:phone", "branch"),
        ("1f2e3d4 https://example.org/pull/7", "commit pull_request"),
        ("'file:a b.py' file:https://x", "file file"),
        ("", ""),
    ],
)
def test_a_person_need_not_say_what_can_be_seen(text, kinds):
    assert " ".join(link["kind"] for link in LINKS.parse(text, NOW)) == kinds


@pytest.mark.parametrize("text", ["phone", "branch:", "branch:-x", "http://example.org/1", "'file:a", "commit:HEAD"])
def test_a_word_that_is_no_link_is_refused_with_what_links_are(text):
    with pytest.raises(ValueError, match=r"branch|commit"):
        LINKS.parse(text, NOW)


@pytest.mark.parametrize("value", ["branch:x", [1], [{"kind": "branch"}], [{"kind": "x", "target": "y"}], {}])
def test_json_that_is_no_array_of_links_is_refused(value):
    with pytest.raises(ValueError, match=r"link|branch"):
        LINKS.from_json(value, NOW)


@pytest.mark.parametrize(("word", "names"), [("any", "linked"), ("none", "bare"), ("-any", "bare")])
def test_a_list_is_filtered_by_whether_a_task_has_links(store, word, names):
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="a", now=START)
    link = (task_links.checked("branch", "phone"),)
    store.commit(AddTask("linked", home.uid, fields={"links": link}), actor="a", now=START)
    store.commit(AddTask("bare", home.uid), actor="a", now=START)
    term = Term("links", word.removeprefix("-"), word.startswith("-"))
    found = list_pages.after(store.db, home.id, list_pages.FIRST, 10, Filter((term,), now=NOW))
    assert " ".join(task.name for task in found) == names


def test_links_are_taken_back_by_an_undo_but_not_over_anothers_change_and_replay_gives_them_again(store):
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="a", now=START)
    (task,) = store.commit(AddTask("x", home.uid), actor="a", now=START)
    branch, file = task_links.checked("branch", "b"), task_links.checked("file", "f")
    store.commit(EditTask(task.uid, {"links": (branch,)}), actor="a", now=START)
    store.commit(Undo(), actor="a", now=START)
    assert task_queries.task(store.db, task.uid).links == ()
    store.commit(EditTask(task.uid, {"links": (branch,)}), actor="a", now=START)
    store.commit(EditTask(task.uid, {"links": (branch, file)}), actor="b", now=START)
    with pytest.raises(Conflict):
        store.commit(Undo(), actor="a", now=START)
    assert task_queries.task(store.db, task.uid).links == (branch, file)
    assert list(database_findings.differences(store.db)) == []
