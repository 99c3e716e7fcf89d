"""The human of the tests of held tasks, and the ways in which agents take up tasks."""

from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import EnsureList, SetListReview
from tui_tasks.core.store import Store


class Human:
    """The human at the screen."""

    def __init__(self, store: Store, clock) -> None:
        self.store, self.clock = store, clock

    def does(self, *operations: Operation):
        return self.store.commit(*operations, actor="human", now=self.clock())[-1]

    def reviews(self, *names: str) -> None:
        for name in names:
            home = self.does(EnsureList(name, "task"))
            self.does(SetListReview(home.uid, True))


def is_held(error: dict) -> bool:
    return error["code"] == "conflict" and error["data"].get("held") is True


def every_way_to_take_up(uid: str) -> list[tuple[str, dict]]:
    statuses = ("in_progress", "done", "failed", "skipped")
    return [
        *((f"tasklist:set_task_{status}", {"uid": uid}) for status in statuses),
        *(("tasklist:update_task", {"uid": uid, "status": status}) for status in statuses),
        *(
            ("task", {"action": "update", "task_id": uid, "status": status})
            for status in ("in_progress", "completed", "cancelled")
        ),
        ("agent", {"action": "update_task", "task_id": uid, "status": "completed"}),
        *(
            ("tasks", {"action": "update", "id": uid, "status": status})
            for status in ("in_progress", "done", "cancelled")
        ),
        ("update_task", {"id": uid, "status": "done"}),
        ("tasks", {"action": "update", "id": uid, "agent_id": "agent"}),
        ("update_task", {"id": uid, "agent_id": "other"}),
    ]
