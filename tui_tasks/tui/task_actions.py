"""What the human does to tasks, alike in every pane that has a current task."""

from __future__ import annotations

from typing import Any

from tui_tasks.core import queries
from tui_tasks.core.operations import AtVersion, DeleteTask, EditTask, LogTask, SendMessage
from tui_tasks.core.snapshots import Task
from tui_tasks.tui.dialogs import Choice, Menu, Prompt, confirm
from tui_tasks.tui.format import LOOKS, count, safe_line
from tui_tasks.tui.pane import Pane, RowActions

STATUS_KEYS = {"p": "pending", "i": "in_progress", "d": "done", "f": "failed", "s": "skipped", "c": "cancelled"}


class TaskActions(RowActions, Pane):
    """A pane of tasks: `window` holds them by uid."""

    def target(self) -> str | None:
        """The task under the cursor."""
        return self.window.cursor

    def selection(self) -> list[str]:
        """The marked tasks, else the one under the cursor."""
        target = self.target()
        return self.window.marks or ([target] if target is not None else [])

    def _tasks(self) -> list[Task]:
        found = (queries.any_task(self.host.bridge.db, uid) for uid in self.selection())
        return [task for task in found if task is not None and not task.deleted]

    @staticmethod
    def _named(tasks: list[Task]) -> str:
        return safe_line(tasks[0].name, 40) if len(tasks) == 1 else count(len(tasks), "task")

    async def do_status(self) -> None:
        """Ask which, and why it failed or was skipped."""
        tasks = self._tasks()
        if not tasks:
            return
        choices = []
        for letter, status in STATUS_KEYS.items():
            already = all(task.status == status for task in tasks)
            look = LOOKS[status]
            choices.append(Choice(letter, look.word, look.color, f"{look.word} already" if already else ""))
        key: str | None = await self.host.push_screen_wait(Menu(f"Status of {self._named(tasks)}", choices))
        if key is None:
            return
        await self.set_status([task.uid for task in tasks], STATUS_KEYS[key])

    async def set_status(self, uids: list[str], status: str) -> bool:
        """Set the status of tasks as one change; failed and skipped ask why. False where the human went back."""
        operations: list[Any] = [EditTask(uid, {"status": status}) for uid in uids]
        if status in ("failed", "skipped"):
            why = await self.host.push_screen_wait(Prompt(f"Why {LOOKS[status].word}?", hint="Enter Set   Esc Back"))
            if why is None:
                return False
            if why.strip():
                operations += [LogTask(uid, why.strip()) for uid in uids]
        await self.host.bridge.commit(*operations)
        return True

    async def do_delete(self) -> None:
        """Delete; several ask once."""
        tasks = self._tasks()
        if len(tasks) > 1 and not await confirm(self.host, f"Delete {count(len(tasks), 'task')}?", "delete them"):
            return
        await self.host.bridge.commit(*(DeleteTask(task.uid) for task in tasks))
        self.window.clear_marks()
        self.host.say(f"Deleted {self._named(tasks)}. {self.host.key_of('undo')} brings it back.")

    async def do_note(self) -> None:
        """A note into the log, or a message to the agent."""
        tasks = self._tasks()
        if not tasks:
            return
        agent = tasks[0].agent
        kind: str | None = "n"
        if agent:
            choices = [Choice("n", "note into the log"), Choice("m", f"message to {safe_line(agent, 20)}")]
            kind = await self.host.push_screen_wait(Menu(self._named(tasks), choices))
        if kind is None:
            return
        title = f"Note for {self._named(tasks)}" if kind == "n" else f"Message to {safe_line(agent or '', 30)}"
        text = await self.host.push_screen_wait(Prompt(title))
        if text is None or not text.strip():
            return
        if kind == "n":
            await self.host.bridge.commit(*(LogTask(task.uid, text.strip()) for task in tasks))
        else:
            await self.host.bridge.commit(SendMessage(agent or "", text.strip()))

    def do_mark(self) -> None:
        """Mark, and go on to the next."""
        if self.window.cursor is not None:
            self.window.mark([self.window.cursor])
            self.window.move(1)

    async def save(self, task: Task, changes: dict[str, Any]) -> None:
        """Save an edit of a task as it was read; a newer version is a conflict."""
        await self.host.bridge.commit(AtVersion(task.uid, task.version), EditTask(task.uid, changes))
