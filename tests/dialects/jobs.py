"""What tests of `scheduler:*` share: jobs by short names, and the part that a scheduler and a supervisor play."""

from tests.conftest import SECOND, Talk
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import BeginRun, ClaimRun, DecideDue, EndRun

DAILY = {"minute": 30, "hour": 2, "day": "*", "month": "*", "weekday": "*"}


def adhoc(talk: Talk, name: str = "by hand", **more: object) -> dict:
    return talk.ok("scheduler:create_adhoc_task", name=name, system_prompt="S", prompt="P", **more)


def scheduled(talk: Talk, name: str = "daily", **more: object) -> dict:
    given = {"system_prompt": "S", "prompt": "P", "schedule": DAILY} | more
    return talk.ok("scheduler:create_scheduled_task", name=name, **given)


def begin(talk: Talk, run_id: str) -> None:
    """What a scheduler and a supervisor do with a run of the runner's."""
    now = talk.clock()
    talk.store.commit(ClaimRun(run_id, Heartbeat(run_id, False, "b", "n", 1, "x", now), 9), actor="system", now=now)
    by = Heartbeat(run_id, True, "b", "n", 2, "x", now)
    talk.store.commit(BeginRun(run_id, by, f"hash of {run_id}", now + 60 * SECOND), actor="system", now=now)


def end(talk: Talk, run_id: str, outcome: str = "success", result: str | None = "done") -> None:
    operation = EndRun(run_id, outcome, 0 if outcome == "success" else 1, result)
    talk.store.commit(operation, actor="system", now=talk.clock())


def decide(talk: Talk, uuid: str) -> None:
    talk.store.commit(DecideDue(uuid), actor="system", now=talk.clock())


def job_events(talk: Talk) -> list[dict]:
    return [event for event in talk.events() if event["event"].startswith(("job.", "run."))]
