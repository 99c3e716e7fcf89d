"""Freeze today's schema: `python -m tests.core.schema.released FOLDER` writes a plain and a compacted database.

Run once for a release, by the program that is released; what it wrote is kept as `version-N-plain.db` and so on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conftest import SECOND, START, Clock, Talk
from tui_tasks.core.maintenance import backup
from tui_tasks.core.maintenance.compaction_steps import compacting
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk, PauseAgent, SendMessage
from tui_tasks.core.operations.work import RunWork, StartWork
from tui_tasks.core.store import Store


def fill(store: Store, clock: Clock) -> None:
    """Write something into every table, by every dialect and as the human, with undos and refusals."""
    one, two = (Talk(store, clock, agent=name) for name in ("agent-1", "agent-2"))
    first = one.ok("tasklist:add_task", {"thoughts": ["begin"]}, name="Ship auth flow", description="x" * 2_000)
    clock.forward(60)
    one.ok("tasklist:set_task_in_progress", uid=first["uid"])
    one.ok("tasklist:log_task_progress", uid=first["uid"], message="tests 14/22")
    second = one.ok("tasklist:add_task", name="Write tests \0 \x1b[31m ß 日本")
    one.ok("tasklist:add_task_before", uid=second["uid"], name="Between")
    gone = one.ok("tasklist:add_task", name="Deleted")
    one.ok("tasklist:delete_task", uid=gone["uid"])
    board = two.ok("task", action="create", title="Fix DST", priority="urgent", domain="infra", tags=["a", "b"])[
        "structuredContent"
    ]["task"]
    two.ok(
        "task", {"reflection": "done"}, action="update", task_id=board["task_id"], status="completed", result={"r": 1}
    )
    two.ok("todo", merge=False, todos=[{"id": str(n), "content": f"Todo {n}", "status": "pending"} for n in range(3)])
    tasks = [{"id": "a", "title": "First"}, {"id": "b", "title": "Second", "depends_on": ["a"], "priority": 1}]
    plan = one.ok("tasks", action="create_plan", title="Plan", description="Of two", tasks=tasks)
    a = plan["tasks"][0]
    one.ok("tasks", action="save_state", task_id=a["id"], approach="slowly", decisions=["none"])
    one.ok("tasks", action="link_nodes", task_id=a["id"], node_ids=["n1", "n2"])
    clock.forward(60)
    held = two.ok("control:claim", list=plan["plan_id"], lease_seconds=3_600)
    assert held is not None
    two.ok("tasks", action="update", id=a["id"], notes="half way", intent="finish")
    job = one.ok(
        "scheduler:create_scheduled_task",
        name="Audit",
        prompt="Look",
        system_prompt="You audit",
        schedule={"minute": "0", "hour": "9", "day": "*", "month": "*", "weekday": "1-5"},
        timezone="Europe/Berlin",
    )
    one.ok("scheduler:disable_task", uuid=job["uuid"])
    by_hand = one.ok("scheduler:create_adhoc_task", name="By hand", prompt="p", system_prompt="s")
    run = one.ok("scheduler:run_task", uuid=by_hand["uuid"])
    one.ok("scheduler:finish_run", run_id=run["run_id"], outcome="success", result="fine")
    one.ok("tasklist:add_task", {"idempotency_key": "k1"}, name="Once")
    asked = store.commit(*_asks(first["uid"]), actor="agent-1", now=clock())
    store.commit(AnswerAsk(asked[0].uid, "yes"), SendMessage("agent-1", "Well done"), actor="human", now=clock())
    store.commit(PauseAgent("agent-2", "wait"), actor="human", now=clock())
    undone = one.ok("tasklist:add_task", name="Taken back")
    one.ok("control:undo")
    assert undone["uid"]
    one.refused("control:answer")
    one.ok("tasklist:update_task", uid=second["uid"], name="Write all tests")
    worked = one.ok("tasklist:add_task", name="Worked on")
    one.ok("control:update_task", uid=second["uid"], due="2026-03-01", estimate=30)
    one.ok("control:link", uid=second["uid"], kind="branch", target="auth-flow")
    work = StartWork(worked["uid"], "claude", "/repo", "/trees/2", branch="task/2", base="main", base_commit="c0")
    (started,) = store.commit(work, actor="human", now=clock())
    store.commit(RunWork(started.uid, prompt="Write them"), actor="human", now=clock())
    clock.forward(60)


def _asks(uid: str) -> list[OpenAsk]:
    return [OpenAsk("jose or pyjwt?", ("jose", "pyjwt"), uid), OpenAsk("Still open?", (), uid)]


def freeze(folder: Path) -> None:
    """Write both databases."""
    clock = Clock(START)
    working = folder / "working.db"
    with Store(str(working)) as store:
        version = store.db.scalar("PRAGMA user_version")
        fill(store, clock)
        backup.backup(store.db, folder / f"version-{version}-plain.db")
        clock.forward(3_600)
        for _ in compacting(store, START + 100 * SECOND, clock()):
            pass
        Talk(store, clock, agent="agent-1").ok("tasklist:add_task", name="After compaction")
        backup.backup(store.db, folder / f"version-{version}-compacted.db")
    for left in folder.glob("working.db*"):
        left.unlink()


if __name__ == "__main__":
    freeze(Path(sys.argv[1]))
