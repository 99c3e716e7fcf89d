"""The human's actions on an agent, the same wherever one is shown: its last lines, a message, a pause, an undo of its
changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from typing_extensions import override

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import NotFound
from tui_tasks.core.operations import TakeBack, Undo
from tui_tasks.core.operations.asks import PAUSED, PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.operations.tasks import EditTask, LogTask
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.agents.session_queries import GONE
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
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
    if uid not in context.state.reviewable:
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


async def send_message(context: Context, name: str, text: str) -> None:
    """Send a message to an agent, and say whether it reads it now or when it will. It is also what the calls of a
    paused agent are refused with.
    """
    until, agent = read_when(context, name), ask_queries.agent(context.db, name)
    if agent is not None and agent.paused:
        await context.link.commit(PauseAgent(name, text))
    await context.link.commit(SendMessage(name, text))
    shown, undo = agent_text.who(name, 30), context.keymap.key_of("undo")
    queued = f"Queued: {shown} reads it when {until}. {undo} takes it back."
    context.say(f"Sent to {shown}." if until is None else queued)


def read_when(context: Context, name: str) -> str | None:
    """Return when an agent reads a message that is sent now, as a clause; None: at once."""
    member = next((one for one in context.state.members if one.name == name), None)
    session, state = (member.session, member.state) if member is not None else (None, "gone")
    if session is not None and (state in ("paused", "stuck", "ended") or session.state == GONE):
        state = session.state
    program = session.program if session is not None else None
    from tui_tasks.hooks.replies.reply_sender import reads_when  # for those who write alone

    return reads_when(
        name,
        program,
        state,
        has_screen=not context.link.read_only,
        is_prompted=work_queries.is_prompted(context.db, name),
        is_at_work=work_queries.is_at_work(context.db, name),
    )


async def took_message_back(context: Context, said_of: str | None) -> str | None:
    """Take back the message that the human has sent last, while it waits; its text is there again for the next. Of one
    that its agent has, say once that nothing takes it back: `said_of` is the one of which that was said. Return the
    message, by its uid; None: the human has done something else since.
    """
    sent = ask_queries.sent_last(context.db)
    if sent is None or sent.uid == said_of:
        return None
    shown, undo = agent_text.who(sent.agent, 30), context.keymap.key_of("undo")
    if sent.delivered_seq is not None:
        context.say(f"{shown} has your message, which nothing takes back. {undo} again undoes the change before it.")
        return sent.uid
    from tui_tasks.core.store import Store
    from tui_tasks.hooks.replies import reply_sender

    def run() -> None:
        with Store(context.link.path, makes=False) as store:
            reply_sender.take_back(store, sent, context.link.clock())

    try:
        await asyncio.to_thread(run)
    finally:
        context.link.catch_up()
    context.drafts[f"message {sent.agent}"] = sent.text
    context.say(f"Taken back: your message to {shown}. {context.keymap.key_of('agent_message')} has its text again.")
    return sent.uid


async def correct_answer(context: Context, ask: Ask) -> bool:
    """Ask for a message to the agent that the human answered: `Instead of "Yes": ` and what is meant. The answer stays,
    as nothing records whether its agent has read it. Return False where Esc keeps what was typed for the next time.
    """
    from tui_tasks.tui.asks import ask_text  # most undo is of changes
    from tui_tasks.tui.inputs.editor import MessageDialog, Recipient

    shown, until = agent_text.who(ask.agent, 30), read_when(context, ask.agent)
    when = f". Read when {until}" if until is not None else ""
    answer = safe_line(ask_text.in_one_line(ask.answer or ""), 60).replace('"', "'")
    begun = f'Instead of "{answer}": '
    recipient = Recipient(f"instead {ask.uid}", f"Your answer stays. Message to {shown}{when}", "Send", "")
    dialog = MessageDialog(context, [recipient], begun)
    text = await context.ask(dialog)
    if recipient.draft in context.drafts:
        return False
    if text is None or text.strip() in ("", begun.strip()):
        context.say(f"Nothing sent. {context.keymap.key_of('undo')} again undoes the change before your answer.")
        return True
    with dialog.keeps_unless_done():
        await send_message(context, ask.agent, text.strip())
    return True


def is_there(context: Context, agent: str) -> bool:
    """Return whether an agent is there to read what is sent to it."""
    return any(one.name == agent and one.state != "gone" for one in context.state.members)


async def write(
    context: Context,
    agent: str | None,
    tasks: Sequence[str],
    named: str,
    *,
    is_at_work: bool = True,
    note: str = "",
    typed: str = "",
) -> None:
    """Ask for a text, and send it to an agent, or log it with tasks: `named` names them, and the prompt says which.

    The agent comes first if it is there and `is_at_work` on the tasks; else the log. With a `note`, which says why the
    human could not know the recipient when the key was pressed, the text goes there only after another Enter.
    `typed` is the draft, where there is no other.
    """
    from tui_tasks.tui.inputs.editor import MessageDialog, Recipient

    recipients: list[Recipient] = []
    if agent is not None:
        member = next((one for one in context.state.members if one.name == agent), None)
        who_ = agent_text.who(agent, 40)
        asks = ", not an answer to its question" if member is not None and member.ask is not None else ""
        until = read_when(context, agent)
        when = f". Read when {until}" if until is not None else ""
        recipients.append(Recipient(f"message {agent}", f"Message to {who_}{asks}{when}", "Send", f"To {who_}"))
        is_at_work = is_at_work and is_there(context, agent)
    if tasks:
        about = f"note {' '.join(sorted(tasks))}"
        recipients.append(Recipient(about, f"Note into the log of {named}", "Log", "Into the log"))
        recipients = recipients if is_at_work else recipients[::-1]
    if typed:
        context.drafts.setdefault(recipients[0].draft, typed)
    dialog = MessageDialog(context, recipients)
    text = await context.ask(dialog)
    if text and text.strip() and note:
        context.drafts[dialog.to.draft] = text
        dialog = MessageDialog(context, [dialog.to], note=f"{note} ")
        text = await context.ask(dialog)
    if not text or not text.strip():
        return
    if dialog.to.done == "Send":
        assert agent is not None
        with dialog.keeps_unless_done():
            await send_message(context, agent, text.strip())
        return
    try:
        with dialog.keeps_unless_done():
            await context.link.commit(*(LogTask(uid, text.strip()) for uid in tasks))
    except NotFound:
        gone = named if len(tasks) == 1 else f"one of {named}"
        context.say(f"Not logged: {gone} was deleted. If it comes back, so does your text.")
        return
    context.say(f"Logged: {named}. {context.keymap.key_of('undo')} undoes it.")


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
        agent = ask_queries.agent(self._context.db, name) if name is not None else None
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

    async def message(self, name: str, text: str) -> None:
        """Send a message, and say whether the agent reads it now or when it will."""
        await send_message(self._context, name, text)

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
    ((taken, kept),) = await context.link.commit(TakeBack(tuple(changes)))
    # Changes that stay for the same reason have it once.
    reasons = [*dict.fromkeys(reason for _, reason in kept)]
    left = f" {count(len(kept), 'change')} could not be: {'; '.join(reasons[:3])}." if kept else ""
    if taken:
        from tui_tasks.core.rules import undo

        change = undo.next_to_undo(context.db, vocab.HUMAN, Undo())
        undoes = change is not None and undo.is_revert(context.db, change)
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
