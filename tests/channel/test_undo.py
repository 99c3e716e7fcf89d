"""`control:undo`: an agent takes back its own changes, and nobody else's (docs: protocol, section 7)."""

import pytest

from tests.talking import ADD, add, names, task
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read.tasks import task_queries


def test_undo_takes_back_ones_own_newest_change_one_after_the_other(talk):
    uid = add(talk, "one")
    talk.ok("tasklist:update_task", uid=uid, name="two", description="d")
    talk.ok("tasklist:set_task_done", uid=uid)
    assert talk.ok("control:undo") == {"undone": 3}
    assert task(talk, uid)["status"] == "pending"
    assert talk.ok("control:undo") == {"undone": 2}
    assert (task(talk, uid)["name"], task(talk, uid)["description"]) == ("one", "")
    assert talk.ok("control:undo") == {"undone": 1}
    assert names(talk) == []
    seq = talk.seq()
    assert talk.refused("control:undo")["code"] == "conflict"
    assert talk.seq() == seq


def test_undo_is_of_the_agent_that_speaks_and_leaves_others_changes(talk, other):
    add(talk, "mine")
    add(other, "theirs")
    talk.ok("control:undo")
    assert names(talk) == ["theirs"]
    assert talk.refused("control:undo")["code"] == "conflict"
    other.ok("control:undo")
    assert names(talk) == []


def test_an_undo_is_itself_no_change_to_be_undone(talk):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    talk.ok("control:undo")
    talk.ok("tasklist:log_task_progress", uid=uid, message="m")
    talk.ok("control:undo")
    assert talk.ok("tasklist:get_task_logs", uid=uid) == []
    talk.ok("control:undo")
    assert names(talk) == []


def test_undo_raises_the_version_and_is_in_the_journal_like_any_change(talk):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    talk.ok("control:subscribe")
    talk.ok("control:undo", {"topic": "wrong task"})
    assert task(talk, uid)["version"] == 3
    (event,) = talk.events()
    assert (event["event"], event["changes"]) == ("task.updated", {"status": ["done", "pending"]})
    assert (event["actor"], event["why"]) == ("agent", {"topic": "wrong task"})


def test_swaps_are_taken_back_one_by_one(talk):
    one, two = add(talk, "1"), add(talk, "2")
    add(talk, "3")
    for _ in range(3):
        talk.ok("tasklist:swap_tasks", uid1=one, uid2=two)
    for order in ("123", "213", "123"):
        talk.ok("control:undo")
        assert "".join(names(talk)) == order


def test_a_deleted_task_comes_back_to_its_place_with_all_it_had(talk):
    uids = [add(talk, str(number)) for number in range(3)]
    talk.ok("tasklist:log_task_progress", uid=uids[1], message="kept")
    talk.ok("tasklist:set_task_in_progress", uid=uids[1])
    before = talk.ok("tasklist:display")
    talk.ok("tasklist:delete_task", uid=uids[1])
    talk.ok("control:undo")
    assert talk.ok("tasklist:display") == before
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=uids[1])] == ["kept"]


def test_a_cleared_list_comes_back_whole_and_the_human_can_bring_it_back_too(talk, store, clock):
    for number in range(5):
        add(talk, str(number))
    before = talk.ok("tasklist:display")
    assert talk.ok("tasklist:clear") == {"deleted": 5}
    assert talk.ok("tasklist:display") == []
    talk.ok("control:undo")
    assert talk.ok("tasklist:display") == before
    talk.ok("tasklist:clear")
    cleared = talk.seq() - 4
    store.commit(Undo(cleared), actor="human", now=clock())
    assert talk.ok("tasklist:display") == before


def test_what_somebody_has_changed_since_is_not_taken_back(talk, other):
    uid = add(talk)
    talk.ok("tasklist:update_task", uid=uid, name="mine")
    other.ok("tasklist:update_task", uid=uid, name="theirs")
    seq = talk.seq()
    assert talk.refused("control:undo")["code"] == "conflict"
    assert (talk.seq(), names(talk)) == (seq, ["theirs"])


def test_another_field_of_the_same_task_is_not_the_same(talk, other):
    uid = add(talk)
    talk.ok("tasklist:update_task", uid=uid, name="mine")
    other.ok("tasklist:update_task", uid=uid, description="theirs")
    talk.ok("control:undo")
    assert talk.ok("tasklist:get_task", uid=uid) == {
        "uid": uid,
        "name": "task",
        "description": "theirs",
        "status": "pending",
    }


def test_a_task_that_others_have_worked_on_or_deleted_is_not_taken_back(talk, other):
    uid = add(talk)
    other.ok("tasklist:log_task_progress", uid=uid, message="worked on it")
    assert talk.refused("control:undo")["code"] == "conflict"
    talk.ok("tasklist:set_task_done", uid=uid)
    other.ok("tasklist:delete_task", uid=uid)
    assert talk.refused("control:undo")["code"] == "conflict"


def test_undo_does_not_break_one_in_progress(talk, other):
    one, two = add(talk), add(other)
    talk.ok("tasklist:set_task_in_progress", uid=one)
    talk.ok("tasklist:set_task_done", uid=one)
    other.ok("tasks", action="update", id=two, status="in_progress", agent_id="agent")
    error = talk.refused("control:undo")
    assert (error["code"], error["data"]["in_progress"]) == ("conflict", two)


def test_an_undo_costs_the_same_after_a_long_past_as_after_a_short_one(talk, store):
    costs = []
    for size in (300, 3_000):
        while talk.seq() < size:
            talk.one([{"tool": ADD, "arguments": {"name": "task"}}] * 100)
        steps = [0]

        def count(steps=steps) -> None:
            steps[0] += 1

        uid = talk.ok(ADD, name="last")["uid"]
        talk.ok("tasklist:update_task", uid=uid, name="new")
        store.db._connection.set_progress_handler(count, 100)
        talk.ok("control:undo")
        store.db._connection.set_progress_handler(None, 0)
        costs.append(steps[0] + 1)
    assert costs[1] < 2 * costs[0]


def test_a_list_comes_back_in_order_among_what_others_have_put_there_since(talk, other, monkeypatch):
    mine, theirs = [f"mine {n}" for n in range(50)], [f"theirs {n}" for n in range(50)]
    for name in mine:
        add(talk, name)
    talk.ok("tasklist:clear")
    for name in theirs:
        add(other, name)
    read = []
    monkeypatch.setattr(
        journal, "read_entry", lambda db, row, real=journal.read_entry: read.append(row) or real(db, row)
    )
    talk.ok("control:undo")
    back = names(talk)
    assert [name for name in back if name in mine] == mine
    assert [name for name in back if name in theirs] == theirs
    assert len(read) == len(mine), "each entry of the change is read once, however many places are taken"


def test_a_task_that_waits_for_another_is_shown_free_when_both_are_cleared_away(talk):
    first = add(talk, "first")
    second = talk.ok("create_plan", title="p", tasks=[{"title": "second", "depends_on": [first]}])["tasks"][0]["id"]
    assert task(talk, second)["blocked"]
    talk.ok("control:subscribe")
    talk.ok("tasklist:clear")
    assert not task(talk, second)["blocked"]
    talk.ok("control:undo")
    assert task(talk, second)["blocked"]


def test_no_agent_can_take_from_the_journal(talk):
    uid = add(talk)
    talk.ok("tasklist:log_task_progress", uid=uid, message="said")
    talk.ok("control:undo")
    talk.ok("tasklist:delete_task", uid=uid)
    talk.ok("control:undo")
    talk.ok("control:undo")
    talk.ok("tasklist:clear")
    seqs = [entry["seq"] for entry in talk.ok("control:history", since=0)["entries"]]
    assert seqs == list(range(1, talk.seq() + 1))


def test_a_task_that_was_in_progress_does_not_come_back_beside_another(talk, other):
    uid, second = add(talk, "one"), add(talk, "two")
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.ok("tasklist:delete_task", uid=uid)
    other.ok("tasks", action="update", id=second, status="in_progress", agent_id="agent")
    assert talk.refused("control:undo")["data"] == {"in_progress": second}
    other.ok("tasklist:set_task_done", uid=second)
    talk.ok("control:undo")
    assert task(talk, uid)["status"] == "in_progress"


def test_a_change_that_was_taken_back_is_not_taken_back_again(talk, store, clock):
    add(talk, "first")
    change = talk.seq()
    store.commit(Undo(change), actor="agent", now=clock())
    newest = talk.seq()
    with pytest.raises(Conflict, match="has been undone already") as refused:
        store.commit(Undo(change), actor="agent", now=clock())
    assert refused.value.data["seq"] == change
    assert talk.seq() == newest


def test_an_undo_within_a_list_passes_over_newer_changes_of_other_lists(talk, store, clock):
    both = EnsureList("one", "task"), EnsureList("two", "task")
    within, beside = store.commit(*both, actor="agent", now=clock())
    store.commit(AddTask("inside", within.uid), actor="agent", now=clock())
    store.commit(AddTask("outside", beside.uid), actor="agent", now=clock())
    store.commit(Undo(within=within.uid), actor="agent", now=clock())
    left = [[task.name for task in task_queries.tasks(store.db, home.id)] for home in (within, beside)]
    assert left == [[], ["outside"]]


def test_a_redo_passes_over_what_cannot_be_undone_and_stops_at_a_change_of_ones_own(talk, store, clock):
    add(talk, "claimed")
    claim = talk.ok("control:claim", list="tasklist")["claim"]
    add(talk, "again")
    talk.ok("control:undo")
    talk.ok("control:heartbeat", claim=claim)
    store.commit(Redo(), actor="agent", now=clock())
    assert names(talk) == ["claimed", "again"]
    talk.ok("control:undo")
    add(talk, "newer")
    with pytest.raises(Conflict, match="no undo to redo"):
        store.commit(Redo(), actor="agent", now=clock())
    assert names(talk) == ["claimed", "newer"]
