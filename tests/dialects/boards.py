"""What the tests of `task` and `memory` say, and how they look at what came of it."""

from tests.conftest import Talk

SEED_RESULT = {
    "summary": "Plausible installed on 4 client sites, GA removed, verified tracking for 48 hours",
    "sites_migrated": ["acme.com", "globex.com", "initech.com", "umbrella.co"],
}


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
