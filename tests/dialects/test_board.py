"""`task` and `agent` (seed 001; docs: protocol, section 6)."""

import pytest

from tests.conftest import Talk
from tests.dialects.steps import SEED_RESULT, create, listed, text, update
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.board import BOARD
from tui_tasks.dialects.requests.arguments import schema

SEED_CREATE = {
    "name": "task",
    "arguments": {
        "action": "create",
        "title": "Migrate analytics from GA to Plausible",
        "description": "Replace Google Analytics tracking with Plausible on all client sites",
        "priority": "high",
        "domain": "infrastructure",
        "tags": ["analytics", "migration"],
    },
}


SEED_LIST = {
    "name": "task",
    "arguments": {"action": "list", "status": "open", "domain": "infrastructure", "limit": 10},
}


def full(talk: Talk, uid: str) -> dict:
    return talk.ok("control:task", uid=uid)


# The seed's examples


def test_the_seeds_create_is_answered_in_the_seeds_words(talk: Talk):
    reply = talk.one(SEED_CREATE)
    task = reply["result"]["structuredContent"]["task"]
    assert text(reply["result"]) == (
        f"Task created: Migrate analytics from GA to Plausible ({task['task_id']})\n"
        "Priority: high\nStatus: open\nDomain: infrastructure"
    )
    assert task == {
        "task_id": task["task_id"],
        "title": "Migrate analytics from GA to Plausible",
        "description": "Replace Google Analytics tracking with Plausible on all client sites",
        "status": "open",
        "priority": "high",
        "tags": ["analytics", "migration"],
        "domain": "infrastructure",
        "result": None,
        "metadata": None,
    }


def test_the_seeds_update_completes_and_says_where_the_result_is_kept(talk: Talk):
    uid = talk.one(SEED_CREATE)["result"]["structuredContent"]["task"]["task_id"]
    request = {"action": "update", "task_id": uid, "status": "completed", "result": SEED_RESULT}
    result = talk.one({"name": "task", "arguments": request})["result"]
    memory = result["structuredContent"]["memory_id"]
    assert text(result) == (
        f"Task {uid} updated: status → completed.\nResult saved as memory {memory} in domain: infrastructure."
    )
    assert result["structuredContent"]["task"]["status"] == "completed"
    assert result["structuredContent"]["task"]["result"] == SEED_RESULT


def test_the_seeds_list_is_answered_in_the_seeds_words(talk: Talk):
    one = create(
        talk,
        "Set up staging environment for new API",
        priority="high",
        domain="infrastructure",
        tags=["devops", "staging"],
    )
    two = create(talk, "Audit CloudFlare WAF rules", domain="infrastructure", tags=["security"])
    three = create(talk, "Document backup restore procedure", priority="low", domain="infrastructure")
    create(talk, "Of another domain", domain="docs")
    result = talk.one(SEED_LIST)["result"]
    assert text(result) == (
        "3 open tasks in infrastructure:\n\n"
        f"1. [{one['task_id']}] Set up staging environment for new API (high)\n Tags: devops, staging\n\n"
        f"2. [{two['task_id']}] Audit CloudFlare WAF rules (medium)\n Tags: security\n\n"
        f"3. [{three['task_id']}] Document backup restore procedure (low)"
    )
    assert result["structuredContent"] == {"tasks": [one, two, three], "total": 3}


# create


def test_a_created_task_is_open_and_of_medium_priority_and_has_no_domain_line(talk: Talk):
    result = talk.ok("task", action="create", title="Plain")
    uid = result["structuredContent"]["task"]["task_id"]
    assert text(result) == f"Task created: Plain ({uid})\nPriority: medium\nStatus: open"
    assert full(talk, uid)["priority"] == 3


def test_create_takes_a_status_too(talk: Talk):
    task = create(talk, status="in_progress")
    assert (task["status"], full(talk, task["task_id"])["status"]) == ("in_progress", "in_progress")
    assert text(talk.ok("task", action="create", title="x", status="completed")).endswith("Status: completed")


def test_tasks_go_into_the_list_of_the_dialect_or_the_one_that_is_bound(talk: Talk):
    assert full(talk, create(talk)["task_id"])["list"] == "task"
    made = talk.ok("task", {"list": "release"}, action="create", title="x")["structuredContent"]["task"]
    assert full(talk, made["task_id"])["list"] == "release"
    bound = talk.ok("task", {"list": "release"}, action="list")["structuredContent"]
    assert [task["title"] for task in bound["tasks"]] == ["x"]
    assert talk.ok("task", {"list": "never made"}, action="list")["structuredContent"] == {"tasks": [], "total": 0}


@pytest.mark.parametrize(
    ("argument", "arguments"),
    [
        ("title", {"action": "create"}),
        ("title", {"action": "create", "title": " \n"}),
        ("title", {"action": "create", "title": None}),
        ("status", {"action": "create", "title": "x", "status": "done"}),
        ("priority", {"action": "create", "title": "x", "priority": 1}),
        ("tags", {"action": "create", "title": "x", "tags": 3}),
        ("tags[1]", {"action": "create", "title": "x", "tags": ["a", 3]}),
        ("metadata", {"action": "create", "title": "x", "metadata": [1]}),
        ("result", {"action": "create", "title": "x", "result": {"a": 1}}),
        ("query", {"action": "create", "title": "x", "query": "y"}),
        ("colour", {"action": "create", "title": "x", "colour": "red"}),
        ("action", {"action": "delete", "task_id": "x"}),
        ("action", {}),
        ("task_id", {"action": "update", "status": "open"}),
        ("limit", {"action": "list", "limit": 0}),
        ("limit", {"action": "list", "limit": "ten"}),
        ("limit", {"action": "list", "limit": 2**63}),
        ("title", {"action": "list", "title": "x"}),
    ],
)
def test_a_wrong_argument_is_refused_by_name_in_the_form_of_the_dialect(talk: Talk, argument: str, arguments: dict):
    before = talk.seq()
    reply = talk.ask("task", **arguments)
    assert (reply["error"]["code"], reply["error"]["data"]["argument"]) == ("invalid_argument", argument)
    assert reply["result"] == {"content": [{"type": "text", "text": reply["error"]["message"]}], "isError": True}
    assert talk.seq() == before


def test_null_is_absent_and_lists_and_objects_may_come_as_strings(talk: Talk):
    task = create(talk, tags='["a", "b"]', metadata='{"n": 1}', domain=None, result=None, task_id=None)
    assert (task["tags"], task["metadata"], task["domain"]) == (["a", "b"], {"n": 1}, None)
    assert create(talk, tags="alone")["tags"] == ["alone"]


# update


def test_the_text_tells_of_the_fields_in_their_order(talk: Talk):
    uid = create(talk)["task_id"]
    result = update(
        talk,
        uid,
        metadata={"a": 1},
        result={"b": 2},
        description="long",
        tags=["x", "y"],
        domain="docs",
        priority="urgent",
        status="in_progress",
        title="New",
    )
    assert text(result) == (
        f"Task {uid} updated: title → New, status → in_progress, priority → urgent, domain → docs, tags → x, y, "
        "description, result, metadata."
    )
    assert result["structuredContent"] == {
        "task": {
            "task_id": uid,
            "title": "New",
            "description": "long",
            "status": "in_progress",
            "priority": "urgent",
            "tags": ["x", "y"],
            "domain": "docs",
            "result": {"b": 2},
            "metadata": {"a": 1},
        }
    }


def test_update_needs_a_field_besides_the_id(talk: Talk):
    uid = create(talk)["task_id"]
    assert talk.refused("task", action="update", task_id=uid)["code"] == "invalid_argument"
    assert talk.refused("task", action="update", task_id=uid, status=None)["code"] == "invalid_argument"


def test_update_of_an_unknown_task_is_not_found(talk: Talk):
    reply = talk.ask("task", action="update", task_id="nobody", status="open")
    assert (reply["error"]["code"], reply["error"]["data"]) == ("not_found", {"id": "nobody"})
    assert reply["result"]["isError"] is True


def test_an_empty_description_and_empty_tags_empty_them(talk: Talk):
    uid = create(talk, description="long", tags=["a"])["task_id"]
    task = update(talk, uid, description="", tags=[])["structuredContent"]["task"]
    assert (task["description"], task["tags"]) == ("", [])


def test_if_version_goes_with_update_alone(talk: Talk):
    uid = create(talk)["task_id"]
    update(talk, uid, status="in_progress")
    stale = talk.refused("task", {"if_version": 1}, action="update", task_id=uid, status="open")
    assert (stale["code"], stale["data"]["version"]) == ("conflict", 2)
    assert talk.ask("task", {"if_version": 2}, action="update", task_id=uid, status="open")["ok"]
    assert talk.refused("task", {"if_version": 1}, action="create", title="x")["code"] == "invalid_request"
    assert talk.refused("task", {"if_version": 1}, action="list")["code"] == "invalid_request"


def test_reading_is_free_to_a_read_only_channel_and_writing_forbidden(talk: Talk, store: Store):
    create(talk)
    reader = Talk(store, talk.clock, read_only=True)
    assert listed(reader) == ["Write it"]
    assert reader.refused("task", action="create", title="x")["code"] == "forbidden"
    assert reader.refused("agent", action="create_task", title="x")["code"] == "forbidden"
    assert reader.ask("agent", action="list_tasks")["ok"]
    assert reader.ask("memory", action="list")["ok"]


# The words for statuses and priorities


def test_every_word_for_a_status_goes_both_ways(talk: Talk):
    uid = create(talk)["task_id"]
    for word, status in [
        ("in_progress", "in_progress"),
        ("completed", "done"),
        ("cancelled", "cancelled"),
        ("open", "pending"),
    ]:
        assert update(talk, uid, status=word)["structuredContent"]["task"]["status"] == word
        assert full(talk, uid)["status"] == status


@pytest.mark.parametrize("status", ["failed", "skipped", "cancelled"])
def test_cancelled_is_shown_for_three_statuses_and_written_back_changes_none(talk: Talk, store: Store, status: str):
    uid = create(talk)["task_id"]
    store.commit(EditTask(uid, {"status": status}), actor="human", now=talk.clock.now)
    before = talk.seq()
    assert update(talk, uid, status="cancelled")["structuredContent"]["task"]["status"] == "cancelled"
    assert (talk.seq(), full(talk, uid)["status"]) == (before, status)
    assert listed(talk, status="cancelled") == ["Write it"]


def test_low_written_over_99_leaves_99_and_another_word_sets_its_number(talk: Talk, store: Store):
    uid = create(talk)["task_id"]
    store.commit(EditTask(uid, {"priority": 99}), actor="human", now=talk.clock.now)
    assert update(talk, uid, priority="low")["structuredContent"]["task"]["priority"] == "low"
    assert full(talk, uid)["priority"] == 99
    for word, number in [("urgent", 1), ("high", 2), ("medium", 3), ("low", 4)]:
        update(talk, uid, priority=word)
        assert full(talk, uid)["priority"] == number


def test_a_task_of_any_list_is_updated_by_its_uid(talk: Talk):
    uid = talk.ok("tasklist:add_task", name="Elsewhere")["uid"]
    assert update(talk, uid, status="completed")["structuredContent"]["task"]["title"] == "Elsewhere"
    assert talk.ok("tasklist:get_task", uid=uid)["status"] == "done"
    assert listed(talk) == []


def test_a_second_in_progress_of_a_tasklist_is_a_conflict_by_this_dialect_too(talk: Talk):
    one, two = (talk.ok("tasklist:add_task", name=name)["uid"] for name in "ab")
    update(talk, one, status="in_progress")
    assert talk.refused("task", action="update", task_id=two, status="in_progress")["data"] == {"in_progress": one}
    mine = [create(talk, status="in_progress") for _ in range(2)]
    assert [task["status"] for task in mine] == ["in_progress", "in_progress"]


# agent, deprecated


def test_the_deprecated_agent_tool_is_routed_to_task(talk: Talk):
    made = talk.ok("agent", action="create_task", title="Old way", priority="high")
    uid = made["structuredContent"]["task"]["task_id"]
    assert text(made).startswith("Task created: Old way (")
    done = talk.ok("agent", action="update_task", task_id=uid, status="completed")
    assert text(done) == f"Task {uid} updated: status → completed."
    assert text(talk.ok("agent", action="list_tasks", status="completed")).startswith("1 completed task:")


@pytest.mark.parametrize("extra", [{}, {"title": 5, "tags": {"x": None}, "rest": 1}, {"task_id": "x", "deep": [[1]]}])
def test_any_other_action_of_agent_gets_a_notice_whatever_comes_with_it(talk: Talk, extra: dict):
    before = talk.seq()
    result = talk.ok("agent", action="spawn", **extra)
    assert "deprecated" in text(result)
    assert "task" in text(result)
    assert talk.seq() == before


def test_what_is_routed_is_checked_as_task_checks_it(talk: Talk):
    reply = talk.ask("agent", action="create_task", title="x", colour="red")
    assert reply["error"]["data"]["argument"] == "colour"
    assert reply["result"]["isError"] is True
    assert talk.refused("agent", action="create_task")["data"]["argument"] == "title"
    assert talk.refused("agent")["data"]["argument"] == "action"
    uid = create(talk)["task_id"]
    stale = talk.refused("agent", {"if_version": 9}, action="update_task", task_id=uid, status="open")
    assert stale["code"] == "conflict"


# What an agent reads


def test_the_schema_holds_every_parameter_and_says_which_action_takes_it():
    shown = schema(BOARD.tools["task"].arguments)
    assert shown["required"] == ["action"]
    seed = {"title", "description", "status", "priority", "tags", "domain", "result", "metadata"}
    assert set(shown["properties"]) == seed | {"action", "task_id", "query", "limit", "after", "brief"}
    description = BOARD.tools["task"].description
    assert all(f"\n{action}(" in description for action in ("create", "update", "list"))
    assert "\nlist([status, domain, priority, tags, query, limit, after, brief]): " in description


def test_reasoning_is_kept_with_the_change(talk: Talk):
    talk.ok("task", {"thoughts": "because"}, action="create", title="x")
    (entry,) = talk.ok("control:history")["entries"]
    assert entry["why"] == {"thoughts": "because"}


def test_a_bound_channel_creates_in_its_list(store: Store, talk: Talk):
    bound = Talk(store, talk.clock, list="release")
    bound.ok("task", action="create", title="x")
    assert (listed(bound), listed(talk)) == (["x"], [])


def test_a_task_that_the_human_added_is_listed(talk: Talk, store: Store):
    home = task_queries.find_list(store.db, "task")
    assert home is not None
    store.commit(AddTask("By hand", home.uid), actor="human", now=talk.clock.now)
    assert listed(talk, query="hand") == ["By hand"]


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
