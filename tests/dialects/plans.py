"""What the tests of `tasks` say, and how they look at what came of it."""

from tests.conftest import Talk


def plan(talk: Talk, *tasks: dict | str, **arguments: object) -> dict:
    named = [{"title": task} if isinstance(task, str) else task for task in tasks]
    return talk.ok("tasks", action="create_plan", title="Plan", tasks=named, **arguments)


def one(talk: Talk, **task: object) -> str:
    """The id of a task in a plan of its own."""
    return plan(talk, {"title": "Do it", **task})["tasks"][0]["id"]


def pending(talk: Talk, **arguments: object) -> list[str]:
    return [task["title"] for task in talk.ok("tasks", action="pending", **arguments)["tasks"]]


def update(talk: Talk, uid: str, **arguments: object) -> dict:
    return talk.ok("tasks", action="update", id=uid, **arguments)


def full(talk: Talk, uid: str) -> dict:
    return talk.ok("control:task", uid=uid)
