"""What conversations in tests say again and again."""

import json

from tests.conftest import Talk

ADD = "tasklist:add_task"


def add(talk: Talk, name: str = "task", **envelope: object) -> str:
    """Add a task to the tasklist; its uid."""
    return talk.ok(ADD, envelope, name=name)["uid"]


def task(talk: Talk, uid: str) -> dict:
    """A task with every field."""
    return talk.ok("control:task", uid=uid)


def names(talk: Talk, **envelope: object) -> list[str]:
    """The names in the tasklist, in order."""
    return [found["name"] for found in talk.ok("tasklist:display", envelope)]


def settled(talk: Talk, *, ending: bool = False) -> list[dict]:
    """The replies of the waits that are over; `ending`: the input has ended."""
    return [json.loads(line) for line in talk.session.settle(ending=ending)]
