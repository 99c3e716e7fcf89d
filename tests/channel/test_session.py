"""Replies, refusals, pauses, and one state under every dialect (docs: protocol, sections 3 to 5)."""

import contextlib
import json

import msgspec
import pytest

from tests.conftest import Clock, Talk
from tests.talking import ADD, add, names
from tui_tasks.core.commit import journal
from tui_tasks.core.engine import driver
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.asks import PauseAgent, ResumeAgent
from tui_tasks.core.operations.tasks import EditTask, EnsureList, SetListRule
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.tasklist import TASKLIST
from tui_tasks.dialects.tool_table import TABLE

# Replies


def test_the_seq_of_a_reply_is_the_journals_newest_entry(talk):
    first = talk.ask(ADD, name="one")
    assert first["seq"] == journal.newest(talk.store.db) == 1
    assert talk.ask("tasklist:display")["seq"] == 1
    assert talk.ask(ADD, name="two")["seq"] == 2
    one, two = talk.lines(*({"tool": ADD, "arguments": {"name": name}} for name in ("three", "four")))
    assert (one["seq"], two["seq"]) == (3, 4)


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("tasklist:delete_task", {"uid": "none"}, "not_found"),
        ("tasklist:get_task", {"uid": "none"}, "not_found"),
        ("tasklist:get_task_logs", {"uid": "none"}, "not_found"),
        ("tasklist:add_task_before", {"uid": "none", "name": "x"}, "not_found"),
        ("tasklist:add_task_after", {"uid": "none", "name": "x"}, "not_found"),
        ("tasklist:swap_tasks", {"uid1": "none", "uid2": "none"}, "not_found"),
        ("control:task", {"uid": "none"}, "not_found"),
        ("ask", {"question": "?", "task": "none"}, "not_found"),
        (ADD, {"name": ""}, "invalid_argument"),
        ("tasklist:ad_task", {"name": "x"}, "unknown_tool"),
    ],
)
def test_a_refusal_tells_its_code_and_leaves_no_entry(talk, tool, arguments, code):
    add(talk)
    error = talk.refused(tool, **arguments)
    assert error["code"] == code
    assert isinstance(error["message"], str)
    if code == "not_found":
        assert error["data"] == {"id": "none"}
    assert talk.seq() == 1


def test_an_unknown_tool_is_told_with_the_nearest_names(talk):
    assert ADD in talk.refused("tasklist:ad_task")["data"]["did_you_mean"]
    assert talk.refused("x" * 100_000)["data"]["did_you_mean"] == []


def test_a_tool_with_an_action_in_its_name_is_told_where_the_action_goes(talk):
    error = talk.refused("task:create", action="create")
    assert error["data"]["did_you_mean"][0] == "task"
    assert '"action": "create"' in error["message"]
    assert "action" not in talk.refused("todo:write")["message"]


@pytest.mark.parametrize("verb", ["control:answer", "control:message", "control:pause", "control:resume"])
def test_a_verb_of_the_humans_is_forbidden_and_kept_as_refused(talk, verb):
    error = talk.refused(verb, {"agent": "sly", "topic": "power"}, anything="goes")
    assert error["code"] == "forbidden"
    (entry,) = talk.ok("control:history")["entries"]
    assert (entry["event"], entry["actor"], entry["why"]) == ("agent.refused", "sly", {"topic": "power"})
    assert verb in json.dumps(entry)


def test_the_humans_verbs_are_not_offered(talk):
    offered = {tool["name"] for tool in talk.ok("control:hello")["tools"]}
    assert not offered & {"control:answer", "control:message", "control:pause", "control:resume", "control:compact"}


def test_a_read_only_channel_reads_and_refuses_every_write(path, clock):
    with Store(str(path)) as store:
        uid = add(Talk(store, clock))
    with Store(str(path), read_only=True) as store:
        talk = Talk(store, clock, read_only=True)
        assert talk.ok("control:hello")["read_only"] is True
        assert names(talk) == ["task"]
        assert talk.ok("control:history")["entries"]
        talk.ok("control:subscribe")
        for tool, arguments in (
            (ADD, {"name": "x"}),
            ("tasklist:set_task_done", {"uid": uid}),
            ("tasklist:clear", {}),
            ("control:undo", {}),
            ("control:claim", {}),
            ("ask", {"question": "?"}),
        ):
            assert talk.refused(tool, **arguments)["code"] == "forbidden"
        replies = talk.one([{"tool": "tasklist:display"}, {"tool": ADD, "arguments": {"name": "x"}}])
        assert [reply["error"]["code"] for reply in replies] == ["conflict", "forbidden"]


@pytest.fixture
def defect(monkeypatch):
    """A defect in the tool that adds tasks."""

    def broken(call, given):
        call.run(EnsureList("half done", "task"))
        raise KeyError("a secret of the code")

    find = TABLE.find
    add = msgspec.structs.replace(TASKLIST.tools[ADD], handler=broken)
    monkeypatch.setattr(TABLE, "find", lambda name: add if name == ADD else find(name))


def test_a_defect_is_told_as_internal_without_a_traceback_and_the_channel_goes_on(talk, defect):
    reply = talk.one({"id": 1, "tool": ADD, "arguments": {"name": "x"}})
    assert (reply["id"], reply["error"]["code"]) == (1, "internal")
    assert "secret" not in json.dumps(reply)
    assert "Traceback" not in json.dumps(reply)
    assert talk.seq() == 0
    other, batch = talk.lines({"tool": "tasklist:display"}, [{"tool": "tasklist:display"}, {"tool": ADD}])
    assert other["ok"]
    assert [item["ok"] for item in batch] == [False, False]


def test_an_agent_that_causes_defects_again_and_again_has_the_tables_searched_once(talk, store, defect, monkeypatch):
    searches = []
    search = database_findings.damage_of
    monkeypatch.setattr(database_findings, "damage_of", lambda db: searches.append(db) or search(db))
    assert [talk.refused(ADD, name="x")["code"] for _ in range(3)] == ["internal"] * 3
    assert len(searches) == 1
    with contextlib.closing(connect(store.path)) as raw:
        raw.execute("INSERT INTO view (key, value) VALUES ('seen', '\"x\"')")
    refusals = [talk.refused(ADD, name="x") for _ in range(3)]
    assert {refusal["code"] for refusal in refusals} == {"storage_error"}
    assert "the field value of row seen of view is not what this program writes" in refusals[0]["message"]
    assert len(searches) == 2


def test_a_defect_in_a_large_database_names_the_doctor_instead_of_searching_all_of_it(talk, defect, monkeypatch):
    monkeypatch.setattr(database_findings, "SMALL", 0)
    refusal = talk.refused(ADD, name="x")
    assert (refusal["code"], "tui-tasks doctor" in refusal["message"]) == ("internal", True)


def test_a_line_that_is_no_json_is_answered_where_it_stood(talk):
    from tui_tasks.core.errors import ParseError, TooLarge

    values = [{"id": 1, "tool": "tasklist:display"}, ParseError("no"), TooLarge("too"), {"id": 2, "tool": "x"}]
    replies = talk.lines(*values)
    assert [reply["id"] for reply in replies] == [1, None, None, 2]
    assert [reply["error"]["code"] for reply in replies[1:]] == ["parse_error", "too_large", "unknown_tool"]


@contextlib.contextmanager
def full_disk(talk: Talk, monkeypatch):
    """No page more than there are, for this connection and for those that are opened meanwhile."""
    pages = talk.store.db.scalar("PRAGMA page_count")
    talk.store.db.sql(f"PRAGMA max_page_count = {pages}")
    pragmas = driver._pragmas
    with monkeypatch.context() as full:
        full.setattr(driver, "_pragmas", lambda read_only: [*pragmas(read_only), ("max_page_count", pages)])
        yield
    talk.store.db.sql("PRAGMA max_page_count = 1000000")


def test_a_failing_storage_is_told_and_nothing_was_written(talk, monkeypatch):
    add(talk, "kept")
    line = {"id": 1, "tool": ADD, "arguments": {"name": "x", "description": "d" * 900_000}}
    with full_disk(talk, monkeypatch):
        replies = talk.lines(line, {"id": 2, "tool": "tasklist:display"})
    assert [reply["id"] for reply in replies] == [1, 2]
    assert replies[0]["error"]["code"] == "storage_error"
    assert replies[0]["error"]["data"]["retryable"] is True
    assert [task["name"] for task in replies[1]["result"]] == ["kept"]
    assert talk.one(line)["ok"]
    monkeypatch.setattr(journal, "newest", lambda _: (_ for _ in ()).throw(StorageFailed("gone", retryable=False)))
    reply = talk.one({"id": 3, "tool": "control:hello"})
    assert (reply["id"], reply["error"]["code"], reply["error"]["data"]["retryable"]) == (3, "storage_error", False)


def test_where_storage_fails_among_lines_that_came_together_each_is_done_once_or_refused(talk, monkeypatch):
    add(talk, "kept")
    great = {"tool": ADD, "arguments": {"name": "great", "description": "d" * 900_000}}
    lines = [{"tool": ADD, "arguments": {"name": f"small {n}"}} for n in range(4)]
    with full_disk(talk, monkeypatch):
        replies = talk.lines(*lines[:2], great, *lines[2:], [great, lines[0]])
    assert [item["error"]["code"] for item in replies.pop()] == ["storage_error"] * 2
    assert replies[2]["error"]["code"] == "storage_error"
    done = [reply["result"]["name"] for reply in replies if reply["ok"]]
    assert names(talk) == ["kept", *done]
    assert database_findings.broken_link(talk.store.db) is None


# Paused


def test_a_paused_agent_is_told_what_the_human_wrote_and_others_go_on(talk, store, clock):
    uid = add(talk)
    talk.ok("control:subscribe")
    store.commit(PauseAgent("agent", "wait for me, [bold]please"), actor="human", now=clock())
    for tool, arguments in ((ADD, {"name": "x"}), ("tasklist:display", {}), ("tasklist:set_task_done", {"uid": uid})):
        error = talk.refused(tool, **arguments)
        assert (error["code"], error["message"]) == ("paused", "wait for me, [bold]please")
    assert talk.ok("tasklist:display", {"agent": "another"})
    replies = talk.one([{"tool": "tasklist:display", "agent": "another"}, {"tool": "tasklist:display"}])
    assert [reply["error"]["code"] for reply in replies] == ["conflict", "paused"]
    (event,) = talk.events()
    assert (event["event"], event["actor"]) == ("agent.paused", "human")
    store.commit(ResumeAgent("agent"), actor="human", now=clock())
    assert names(talk) == ["task"]
    (event,) = talk.events()
    assert event["event"] == "agent.resumed"


def test_letting_an_agent_go_on_that_was_never_paused_leaves_no_entry(talk, store, clock):
    seq = talk.seq()
    store.commit(ResumeAgent("stranger"), actor="human", now=clock())
    assert talk.seq() == seq


# One state, lists


def test_tasklist_shows_the_six_statuses_in_its_five_words_and_writing_them_back_changes_nothing(talk, store, clock):
    shown = {"pending": "pending", "in_progress": "in_progress", "done": "done", "failed": "failed"}
    for status in (*shown, "skipped", "cancelled"):
        word = shown.get(status, "skipped")
        uid = add(talk, status)
        store.commit(EditTask(uid, {"status": status}), actor="human", now=clock())
        task = talk.ok("tasklist:get_task", uid=uid)
        assert task["status"] == word
        seq = talk.seq()
        assert talk.ok("tasklist:update_task", uid=uid, status=word) == task
        assert talk.ok(f"tasklist:set_task_{word}", uid=uid) == task
        assert talk.seq() == seq
        assert talk.ok("control:task", uid=uid)["status"] == status
    assert [task["name"] for task in talk.ok("tasklist:get_tasks", status="skipped")] == ["skipped", "cancelled"]


def test_skipped_is_set_where_it_was_not_shown(talk, store):
    uid = add(talk)
    talk.ok("tasklist:set_task_skipped", uid=uid)
    assert task_queries.task(store.db, uid).status == "skipped"


def test_a_named_list_is_made_at_first_use_and_is_apart(talk, store):
    assert names(talk, list="mine") == []
    assert talk.ok("tasklist:clear", {"list": "mine"}) == {"deleted": 0}
    assert "mine" not in [found.name for found in task_queries.lists(store.db)]
    uid = add(talk, "in mine", list="mine")
    add(talk, "in the dialect's")
    assert names(talk) == ["in the dialect's"]
    assert names(talk, list="mine") == ["in mine"]
    assert talk.ok("control:task", uid=uid)["list"] == "mine"
    assert talk.ok("tasklist:clear", {"list": "mine"}) == {"deleted": 1}
    assert names(talk) == ["in the dialect's"]


def test_a_channel_may_be_bound_to_a_list_and_a_request_may_name_another(store, clock):
    bound = Talk(store, clock, list="mine")
    assert bound.ok("control:hello")["list"] == "mine"
    add(bound, "one")
    add(bound, "two", list="other")
    assert names(bound) == ["one"]
    assert names(bound, list="other") == ["two"]
    assert Talk(store, clock).ok("control:hello")["list"] is None


@pytest.mark.parametrize("envelope", [{}, {"list": "made by tasklist"}])
def test_a_second_task_in_progress_is_a_conflict_with_the_uid_of_the_first(talk, envelope):
    first, second = add(talk, **envelope), add(talk, **envelope)
    talk.ok("tasklist:set_task_in_progress", uid=first)
    for tool, arguments in (
        ("tasklist:set_task_in_progress", {}),
        ("tasklist:update_task", {"status": "in_progress", "name": "x"}),
    ):
        error = talk.refused(tool, uid=second, **arguments)
        assert (error["code"], error["data"]["in_progress"]) == ("conflict", first)
    assert talk.ok("tasklist:get_task", uid=second)["name"] == "task"
    assert talk.ok("tasklist:set_task_in_progress", uid=first)["status"] == "in_progress"


def test_a_new_agent_that_reads_as_one_who_has_spoken_is_refused(talk):
    add(talk, "one", agent="claude-1")
    for _ in range(2):
        refused = talk.refused(ADD, {"agent": "claude-l"}, name="x")
        assert refused["code"] == "invalid_request"
        assert "claude-1" in refused["message"]
    for name in ("claude-1", "claude-2"):
        add(talk, "two", agent=name)


def test_one_in_progress_is_counted_by_list(talk):
    talk.ok("tasklist:set_task_in_progress", uid=add(talk))
    talk.ok("tasklist:set_task_in_progress", uid=add(talk, list="another"))


def test_a_list_of_another_dialect_has_no_such_limit_until_the_human_gives_it_the_rule(talk, store, clock):
    (home,) = store.commit(EnsureList("free", "task"), actor="human", now=clock())
    uids = [add(talk, list="free") for _ in range(3)]
    for uid in uids[:2]:
        talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.ok("tasklist:set_task_done", uid=uids[0])
    store.commit(SetListRule(home.uid, True), actor="human", now=clock())
    assert talk.refused("tasklist:set_task_in_progress", uid=uids[2])["data"]["in_progress"] == uids[1]


def test_any_task_is_read_and_written_by_its_uid_whichever_list_it_is_in(talk):
    uid = add(talk, list="mine")
    assert talk.ok("tasklist:set_task_done", uid=uid)["status"] == "done"
    after = talk.ok("tasklist:add_task_after", uid=uid, name="after")["uid"]
    assert names(talk, list="mine") == ["task", "after"]
    assert talk.refused("tasklist:swap_tasks", uid1=after, uid2=add(talk))["code"] == "invalid_argument"


def test_a_clock_that_goes_back_spoils_nothing(talk, clock: Clock):
    uid = add(talk)
    clock.forward(-3600)
    talk.ok("tasklist:log_task_progress", uid=uid, message="earlier")
    clock.forward(10)
    talk.ok("tasklist:log_task_progress", uid=uid, message="later")
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=uid)] == ["earlier", "later"]


@pytest.mark.parametrize(
    "envelope",
    [
        {"list": ""},
        {"id": [1]},
        {"agent": "human"},
        {"agent": " "},
        {"if_version": "1"},
        {"idempotency_key": ""},
        {"tool_args": [1]},
    ],
    ids=str,
)
def test_a_request_that_is_none_is_refused_in_the_form_of_the_tool_that_it_names(talk, envelope):
    reply = talk.ask("task", envelope, action="list")
    assert reply["error"]["code"] == "invalid_request"
    assert reply["result"]["isError"] is True
    assert reply["error"]["message"] in reply["result"]["content"][0]["text"]
    assert "result" not in talk.ask("tasklist:display", envelope)


def test_a_name_in_other_letters_is_the_nearest(talk):
    assert talk.refused("TASK", action="list")["data"]["did_you_mean"][0] == "task"


def test_requests_that_come_together_cost_few_statements_each(talk):
    added = talk.lines(*({"id": n, "tool": "tasklist:add_task", "arguments": {"name": f"{n}"}} for n in range(3)))
    uids = [reply["result"]["uid"] for reply in added]
    run: list[str] = []
    talk.store.db._connection.set_trace_callback(lambda sql: run.append(" ".join(sql.split()[:2])))
    talk.lines(*({"id": n, "tool": "tasklist:add_task", "arguments": {"name": f"{n}"}} for n in range(9)))
    assert [run.count(kind) for kind in ("INSERT INTO", 'UPDATE "list"', "COMMIT")] == [18, 1, 1]
    assert len(run) <= 18 + 4
    run.clear()
    talk.lines(*({"id": n, "tool": "control:task", "arguments": {"uid": uid}} for n, uid in enumerate(uids)))
    # One each, and for all: the transaction, the journal's newest entry, the checks, and whether there is any work.
    assert len(run) <= len(uids) + 4
