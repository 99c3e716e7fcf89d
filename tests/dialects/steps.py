"""What the tests of `task`, `memory`, `tasks` and `scheduler:*` say, and how they look at what came of it."""

from tests.conftest import SECOND, Talk
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import BeginRun, ClaimRun, DecideDue, EndRun

SEED_RESULT = {
    "summary": "Plausible installed on 4 client sites, GA removed, verified tracking for 48 hours",
    "sites_migrated": ["acme.com", "globex.com", "initech.com", "umbrella.co"],
}
DAILY = {"minute": 30, "hour": 2, "day": "*", "month": "*", "weekday": "*"}


def text(result: dict) -> str:
    (part,) = result["content"]
    assert part["type"] == "text"
    return part["text"]


def create(talk: Talk, title: str = "Write it", **arguments: object) -> dict:
    return talk.ok("task", action="create", title=title, **arguments)["structuredContent"]["task"]


def update(talk: Talk, uid: str, **arguments: object) -> dict:
    return talk.ok("task", action="update", task_id=uid, **arguments)


def listed(talk: Talk, **arguments: object) -> list[str]:
    tasks = talk.ok("task", action="list", **arguments)["structuredContent"]["tasks"]
    return [task["title"] for task in tasks]


def plan(talk: Talk, *tasks: dict | str, **arguments: object) -> dict:
    named = [{"title": task} if isinstance(task, str) else task for task in tasks]
    return talk.ok("tasks", action="create_plan", title="Plan", tasks=named, **arguments)


def one(talk: Talk, **task: object) -> str:
    """The id of a task in a plan of its own."""
    return plan(talk, {"title": "Do it", **task})["tasks"][0]["id"]


def pending(talk: Talk, **arguments: object) -> list[str]:
    return [task["title"] for task in talk.ok("tasks", action="pending", **arguments)["tasks"]]


def change(talk: Talk, uid: str, **arguments: object) -> dict:
    return talk.ok("tasks", action="update", id=uid, **arguments)


def full(talk: Talk, uid: str) -> dict:
    return talk.ok("control:task", uid=uid)


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
