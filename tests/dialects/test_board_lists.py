"""`task`: listing tasks, the most urgent first, by filters (docs: protocol, section 6)."""

from tests.conftest import Talk
from tests.dialects.steps import create, listed, text
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.store import Store


def head(talk: Talk, **arguments: object) -> str:
    return text(talk.ok("task", action="list", **arguments)).split("\n")[0]


def test_most_urgent_comes_first_and_then_the_oldest(talk: Talk):
    for title, priority in [("a", "low"), ("b", "urgent"), ("c", "medium"), ("d", "urgent"), ("e", "high")]:
        create(talk, title, priority=priority)
    assert listed(talk) == ["b", "d", "e", "c", "a"]


def test_tags_keep_those_that_have_them_all(talk: Talk):
    create(talk, "both", tags=["a", "b"])
    create(talk, "one", tags=["a"])
    create(talk, "near", tags=["ab"])
    assert listed(talk, tags=["a"]) == ["both", "one"]
    assert listed(talk, tags="['b', 'a']") == ["both"]
    assert listed(talk, tags=[]) == ["both", "one", "near"]


def test_query_is_a_substring_in_any_case_of_title_or_description(talk: Talk):
    create(talk, "ÄRGER mit 100%")
    create(talk, "other", description="wegen ärger_s")
    create(talk, "third")
    assert listed(talk, query="Ärger") == ["ÄRGER mit 100%", "other"]
    assert listed(talk, query="0%") == ["ÄRGER mit 100%"]
    assert listed(talk, query="r_s") == ["other"]
    assert len(listed(talk, query="")) == 3


def test_filters_work_together(talk: Talk):
    create(talk, "yes", priority="high", domain="d", status="in_progress")
    create(talk, "wrong priority", priority="low", domain="d", status="in_progress")
    create(talk, "wrong domain", priority="high", domain="D", status="in_progress")
    create(talk, "wrong status", priority="high", domain="d")
    assert listed(talk, priority="high", domain="d", status="in_progress") == ["yes"]


def test_low_lists_what_is_lower_still_and_urgent_only_itself(talk: Talk, store: Store):
    for title, number in [("one", 1), ("two", 2), ("four", 4), ("ninety", 90)]:
        uid = create(talk, title)["task_id"]
        store.commit(EditTask(uid, {"priority": number}), actor="human", now=talk.clock.now)
    assert listed(talk, priority="low") == ["four", "ninety"]
    assert listed(talk, priority="urgent") == ["one"]


def test_the_head_names_only_what_was_asked_for(talk: Talk):
    assert head(talk) == "No tasks."
    assert head(talk, status="open", domain="infrastructure") == "No open tasks in infrastructure."
    create(talk, "Fix q", status="in_progress", priority="urgent", domain="docs", tags=["a", "b"])
    assert head(talk) == "1 task:"
    assert head(talk, status="in_progress") == "1 in progress task:"
    create(talk, "Fix q too", status="in_progress", priority="urgent", domain="docs", tags=["a", "b"])
    assert head(talk, priority="urgent") == "2 urgent-priority tasks:"
    assert head(talk, status="in_progress", priority="urgent", domain="docs", tags=["a", "b"], query="fix q") == (
        '2 in progress urgent-priority tasks in docs tagged a, b matching "fix q":'
    )
    assert head(talk, query="nothing") == 'No tasks matching "nothing".'
    assert head(talk, tags=["a"], limit=1) == "2 tasks tagged a:"


def test_one_open_task_is_in_the_singular(talk: Talk):
    create(talk)
    assert head(talk, status="open") == "1 open task:"


def test_what_limit_cuts_is_counted_and_told(talk: Talk):
    for number in range(25):
        create(talk, f"t{number}")
    result = talk.ok("task", action="list", limit=10)
    assert text(result).startswith("25 tasks:\n\n1. [")
    assert text(result).endswith("t9 (medium)\n\n(showing 10 of 25)")
    assert (len(result["structuredContent"]["tasks"]), result["structuredContent"]["total"]) == (10, 25)
    assert "showing" not in text(talk.ok("task", action="list", limit=25))
