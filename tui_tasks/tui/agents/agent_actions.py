"""The human's actions on an agent, the same wherever one is shown: its last lines, a message, a pause, another status
for its task, an undo of its changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from typing_extensions import override

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Revert, Undo
from tui_tasks.core.operations.asks import PAUSED, PauseAgent, ResumeAgent
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import message_queries, work_queries
from tui_tasks.core.read.agents.session_queries import GONE
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_messages import write
from tui_tasks.tui.agents.agent_text import who
from tui_tasks.tui.inputs.dialogs import Choice, Menu, confirm
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import PRESS_AGAIN, Controller
from tui_tasks.tui.state.context import Context


def came_just_now(name: str) -> str:
    """Return that the human could not know which agent a key was for."""
    return f"{agent_text.who(name, 30)} came under the cursor just now"


def why_not_yet(name: str) -> str:
    """Return why a key does not act on that agent yet."""
    return f"{came_just_now(name)}: {PRESS_AGAIN}"


_STATUS: Final = {"p": "pending", "d": "done", "f": "failed"}


async def give_back(context: Context, task: TaskLine) -> None:
    """Ask for the status of a task that its agent does not go on with; bring one back that was deleted."""
    if task.deleted:
        change = change_summaries.deletion_of(context.db, task.uid)
        await take_back(context, [change] if change is not None else [])
    elif (why := why_not_given_back(context, task)) is not None:
        context.say(why)
    else:
        await ask_status(context, task.uid, f"#{task.number} “{safe_line(task.name, 40)}”", "Give back")


def why_not_given_back(context: Context, task: TaskLine) -> str | None:
    """Return why a task cannot be given back: nobody has it, or its work waits for review; None: it can."""
    if task.deleted:
        return None
    if (why := why_not_pending(context, task.uid, task.number)) is not None:
        return why
    if task.status == "pending" and task.agent is None:
        return f"Nothing to give back: #{task.number} is pending already, and free for any agent."
    return None


def why_not_pending(context: Context, uid: str, number: int) -> str | None:
    """Return why a task cannot become pending: another agent would claim it while its work waits for review."""
    if uid not in context.state.works.reviewable:
        return None
    key = context.keymap.key_of("work_discard")
    return f"The work on #{number} waits for review: {key} there discards it and gives the task back."


async def ask_status(context: Context, uid: str, name: str, title: str = "Status of") -> None:
    """Ask for the status of a task that its agent does not go on with; Enter gives it back: pending, without agent."""
    task = task_queries.task(context.db, uid)
    why_not = why_not_pending(context, uid, task.number) or ""
    choices = [Choice("p", "pending, without an agent", why_not=why_not), Choice("d", "done"), Choice("f", "failed")]
    key = await context.ask(Menu(context, f"{title} {name}", choices, lit="p"))
    task = task_queries.task(context.db, uid)
    if key == "p" and task.status == "pending" and task.agent is None:
        context.say(f"{name} is pending already, and free for any agent.")
    elif key is not None:
        changes = {"status": _STATUS[key]} | ({"agent": None} if key == "p" else {})
        await context.link.commit(EditTask(uid, changes))
        undo = f"{context.keymap.key_of('undo')} undoes it."
        context.say(f"{name} is {_STATUS[key]}{' again' if key == 'p' else ''}. {undo}")


class AgentActions(Controller):
    """Shows the agent that `agent_here` names, writes to it, or pauses it; None: there is no agent here.

    Nothing that writes acts on an agent that has come under the cursor just now.
    """

    def __init__(
        self,
        context: Context,
        agent_here: Callable[[], str | None],
        has_stood: Callable[[], bool],
        task_here: Callable[[], TaskLine | None] = lambda: None,
    ) -> None:
        """`has_stood` returns whether the human could know which agent is there when the key was pressed; `task_here`
        returns its task.
        """
        self._context = context
        self._agent_here = agent_here
        self._has_stood = has_stood
        self._task_here = task_here

    @override
    def why_not(self, action: Action) -> str | None:
        """Most actions need an agent."""
        name = self._agent_here()
        if action.needs == "agent" and name is None:
            return "No agent is under the cursor."
        if action.id in ("agent_peek", "agent_record") and name is not None:
            return self._why_no_peek(name, action.id)
        if action.id == "agent_pause" and name is not None and not self.can_be_paused:
            shown = agent_text.who(name, 30)
            command = f"`tui-tasks agents pause {safe_line(name, 40)}`"
            return f"{shown} is gone: nothing to pause. If it comes back, {command} has its calls refused."
        # A message is typed first, and then asks by itself.
        if name is not None and action.writes and action.id != "agent_message" and not self._has_stood():
            return why_not_yet(name)
        return None

    @override
    def title(self, action: Action) -> str:
        """The key that pauses resumes a paused agent."""
        if action.id == "agent_pause" and self._agent_here() is not None:
            return "Resume the agent" if self.is_paused else "Pause the agent"
        return super().title(action)

    @property
    def is_paused(self) -> bool:
        """Whether the agent is paused."""
        name = self._agent_here()
        agent = message_queries.agent(self._context.db, name) if name is not None else None
        return agent is not None and agent.paused

    @property
    def can_be_paused(self) -> bool:
        """Whether the agent is there or makes single calls, or is paused and can be resumed."""
        name = self._agent_here()
        member = next((one for one in self._context.state.members if one.name == name), None)
        return self.is_paused or (member is not None and (member.is_there or member.calls_alone))

    def _why_no_peek(self, agent: str, action: str) -> str | None:
        from tui_tasks.hooks import session_records  # for those who look at an agent alone

        is_ours = work_queries.of_agent(self._context.db, agent) is not None
        has_record = isinstance(session_records.source(self._context.db, agent), session_records.Source)
        if has_record or (is_ours and action == "agent_peek"):
            return None
        shown = agent_text.who(agent, 30)
        if is_ours:
            return f"The program of {shown} keeps no record."
        return f"{shown} was not started here, so it has no terminal and no record to show."

    def do_agent_peek(self) -> None:
        """Show the agent's last lines; of one that was started elsewhere, its record."""
        from tui_tasks.tui.work.peek_screens import Peek

        name = self._agent_here()
        if name is not None and work_queries.of_agent(self._context.db, name) is not None:
            self._context.push(Peek(self._context, name))
        else:
            self.do_agent_record()

    def do_agent_record(self) -> None:
        """Show the agent's own record."""
        from tui_tasks.tui.work.peek_screens import TranscriptScreen

        if (name := self._agent_here()) is not None:
            self._context.push(TranscriptScreen(self._context, name))

    async def do_agent_message(self) -> None:
        """Write to the agent; it gets it with the next reply, or as an event."""
        name = self._agent_here()
        if name is None:
            return
        task, note = self._task_here(), "" if self._has_stood() else f"{came_just_now(name)}."
        named = f"#{task.number} “{safe_line(task.name, 40)}”" if task is not None else ""
        await write(self._context, name, [task.uid] if task is not None else [], named, note=note)

    async def do_agent_pause(self) -> None:
        """Pause the agent, or resume it where it is paused. A message tells it why: see `send_message`."""
        context, name = self._context, self._agent_here()
        if name is None:
            return
        shown, key_of = agent_text.who(name, 30), context.keymap.key_of
        if self.is_paused:
            await context.link.commit(ResumeAgent(name))
            context.say(f"{shown} is resumed.")
            return
        await context.link.commit(PauseAgent(name, PAUSED))
        keys = f"{key_of('agent_message')} tells it why, {key_of('agent_pause')} resumes it."
        context.say(f"{shown} is paused{self._but_works_on(name)}. {keys}")

    def _but_works_on(self, name: str) -> str:
        """Return what a pause does to an agent whose program has no hooks; empty for others."""
        member = next((one for one in self._context.state.members if one.name == name), None)
        if member is None or member.session is None or member.session.state == GONE:
            return ""
        if agent_text.has_hooks(member.session):
            return ""
        return ": its calls to tui-tasks are refused, but it works on, as its program has no hooks"


async def take_back(context: Context, changes: Sequence[int], what: str = "") -> None:
    """Ask the human, then take changes back, the newest first; say which could not be taken back.

    Args:
        changes: their numbers, the newest first.
        what: how they are told of, in place of their agents' names.
    """
    summary = change_summaries.summary(context.db, changes)
    if not summary.entries:
        context.say("Nothing to undo: it changed no task, list or job.")
        return
    title = (
        f"Revert {what}: {summary.text}?" if what else f"{' and '.join(map(who, summary.actors))}: {summary.question}"
    )
    if not await confirm(context, title, "Revert it", "Leave it"):
        return
    ((taken, kept),) = await context.link.commit(Revert(tuple(changes)))
    # Changes that stay for the same reason have it once.
    reasons = [*dict.fromkeys(reason for _, reason in kept)]
    left = f" {count(len(kept), 'change')} could not be: {'; '.join(reasons[:3])}." if kept else ""
    if taken:
        from tui_tasks.core.rules import redo, undo

        change = undo.next_to_undo(context.db, vocab.HUMAN, Undo())
        undoes = change is not None and redo.is_revert(context.db, change)
        key = context.keymap.key_of("undo" if undoes else "redo")
        context.say(f"Reverted: {summary.text}. {key} {'undoes it' if undoes else 'does it again'}.{left}")
    else:
        context.say(f"Nothing was reverted.{left}")


async def take_back_entry(context: Context, seq: int) -> None:
    """Take back the change that a log entry belongs to."""
    await take_back(context, [journal.entry(context.db, seq).change])


async def take_back_deletion(context: Context) -> None:
    """Take back the newest deletion in the list on screen."""
    deletion = change_summaries.last_deletion(context.db, context.state.list_id)
    if deletion is None:
        context.say("Nothing was deleted from this list recently.")
        return
    await take_back(context, [deletion.change])
