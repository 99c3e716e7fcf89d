"""`memory`: what is remembered of completed tasks (docs: protocol, section 6)."""

from tests.conftest import Talk
from tests.dialects.steps import SEED_RESULT, create, text, update
from tui_tasks.core.operations.tasks import DeleteTask
from tui_tasks.core.store import Store


def memories(talk: Talk, **arguments: object) -> list[dict]:
    return talk.ok("memory", **({"action": "list"} | arguments))["memories"]


def test_a_memory_holds_the_result_as_it_was_given(talk: Talk):
    uid = create(talk, "Migrate", domain="infrastructure")["task_id"]
    held = update(talk, uid, status="completed", result=SEED_RESULT)["structuredContent"]["memory_id"]
    assert talk.ok("memory", action="list") == {
        "memories": [
            {
                "memory_id": held,
                "task_id": uid,
                "title": "Migrate",
                "domain": "infrastructure",
                "content": SEED_RESULT,
                "created_at": "2026-01-02T11:22:14.000+00:00",
                "updated_at": "2026-01-02T11:22:14.000+00:00",
            }
        ],
        "total": 1,
    }
    assert talk.ok("memory", action="get", memory_id=held) == memories(talk)[0]


def test_a_result_given_before_is_kept_when_the_task_is_completed(talk: Talk):
    uid = create(talk)["task_id"]
    result = update(talk, uid, result={"n": 1})
    assert text(result) == f"Task {uid} updated: result."
    assert "memory_id" not in result["structuredContent"]
    assert memories(talk) == []
    result = update(talk, uid, status="completed")
    held = memories(talk)[0]["memory_id"]
    assert text(result) == f"Task {uid} updated: status → completed.\nResult saved as memory {held}."


def test_completing_without_a_result_saves_nothing_until_there_is_one(talk: Talk):
    uid = create(talk)["task_id"]
    result = update(talk, uid, status="completed")
    assert (text(result), memories(talk)) == (f"Task {uid} updated: status → completed.", [])
    result = update(talk, uid, result={"n": 1})
    held = result["structuredContent"]["memory_id"]
    assert text(result) == f"Task {uid} updated.\nResult saved as memory {held}."


def test_a_task_completed_by_another_dialect_is_remembered_too(talk: Talk):
    uid = create(talk)["task_id"]
    update(talk, uid, result={"n": 1})
    talk.ok("tasklist:set_task_done", uid=uid)
    assert memories(talk)[0]["task_id"] == uid


def test_completing_again_with_another_result_rewrites_that_memory(talk: Talk):
    uid = create(talk, "Old", domain="old")["task_id"]
    held = update(talk, uid, status="completed", result={"n": 1})["structuredContent"]["memory_id"]
    talk.clock.forward(1)
    again = update(talk, uid, title="New", domain="new", status="completed", result={"n": 2})
    assert again["structuredContent"]["memory_id"] == held
    assert text(again).endswith(f"\nResult saved as memory {held} in domain: new.")
    (memory,) = memories(talk)
    assert (memory["content"], memory["title"], memory["domain"]) == ({"n": 2}, "New", "new")
    assert memory["created_at"] < memory["updated_at"]


def test_completing_again_with_the_same_result_changes_nothing_and_still_tells_the_memory(talk: Talk):
    uid = create(talk)["task_id"]
    held = update(talk, uid, status="completed", result={"n": 1})["structuredContent"]["memory_id"]
    before = talk.seq()
    assert update(talk, uid, status="completed")["structuredContent"]["memory_id"] == held
    assert update(talk, uid, result={"n": 1})["structuredContent"]["memory_id"] == held
    assert talk.seq() == before
    assert "memory_id" not in update(talk, uid, domain="docs")["structuredContent"]


def test_a_task_completed_anew_is_remembered_as_it_is_then(talk: Talk):
    uid = create(talk, "Old")["task_id"]
    update(talk, uid, status="completed", result={"n": 1})
    update(talk, uid, status="open", title="New", domain="docs")
    assert memories(talk)[0]["title"] == "Old"
    update(talk, uid, status="completed")
    (memory,) = memories(talk)
    assert (memory["title"], memory["domain"], memory["content"]) == ("New", "docs", {"n": 1})


def test_a_memory_outlives_its_task(talk: Talk, store: Store):
    uid = create(talk)["task_id"]
    update(talk, uid, status="completed", result={"n": 1})
    store.commit(DeleteTask(uid), actor="human", now=talk.clock.now)
    assert talk.refused("task", action="update", task_id=uid, status="open")["code"] == "not_found"
    assert memories(talk)[0]["task_id"] == uid


def test_memories_come_last_updated_first_and_are_searched_in_title_and_content(talk: Talk):
    for title, result, domain in [
        ("Backup", {"summary": 'the "drill" took 5 min\n'}, "infra"),
        ("Restore", {"summary": "BACKUP read back"}, "infra"),
        ("Other", {"n": 1}, None),
    ]:
        update(talk, create(talk, title, domain=domain or "x")["task_id"], status="completed", result=result)
        talk.clock.forward(1)

    def titles(**arguments: object) -> list[str]:
        return [memory["title"] for memory in memories(talk, **arguments)]

    assert titles() == ["Other", "Restore", "Backup"]
    assert titles(action="search", query="backup") == ["Restore", "Backup"]
    assert titles(action="search", query='"DRILL"') == ["Backup"]
    assert titles(action="search", query="min\n") == ["Backup"]
    assert titles(domain="infra") == ["Restore", "Backup"]
    assert talk.ok("memory", action="search", query="backup", limit=1)["total"] == 2
    assert titles(action="search", query="backup", limit=1) == ["Restore"]


def test_memory_refuses_what_is_missing_or_unknown(talk: Talk):
    assert talk.refused("memory", action="search")["data"]["argument"] == "query"
    assert talk.refused("memory", action="get")["data"]["argument"] == "memory_id"
    assert talk.refused("memory", action="list", memory_id="x")["data"]["argument"] == "memory_id"
    assert talk.refused("memory", action="get", memory_id="nobody")["data"] == {"id": "nobody"}
    assert talk.refused("memory", action="list", limit=0)["data"]["argument"] == "limit"
