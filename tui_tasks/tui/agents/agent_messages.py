"""Messages of the human to agents: writing, sending and taking them back; notes into the logs of tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.errors import NotFound
from tui_tasks.core.operations.asks import PauseAgent, SendMessage
from tui_tasks.core.operations.tasks import LogTask
from tui_tasks.core.read import message_queries, work_queries
from tui_tasks.core.read.agents.session_queries import GONE
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.state.context import Context


async def send_message(context: Context, name: str, text: str) -> None:
    """Send a message to an agent, and say whether it reads it now or when it will. It is also what the calls of a
    paused agent are refused with.
    """
    until, agent = read_when(context, name), message_queries.agent(context.db, name)
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
    sent = message_queries.sent_last(context.db)
    if sent is None or sent.uid == said_of:
        return None
    shown, undo = agent_text.who(sent.agent, 30), context.keymap.key_of("undo")
    if sent.delivered_seq is not None:
        context.say(f"{shown} has your message already: it stays sent. {undo} again undoes the change before it.")
        return sent.uid
    from tui_tasks.core.store import Store
    from tui_tasks.hooks.replies import reply_sender

    def run() -> None:
        with Store(context.link.path, makes=False) as store:
            reply_sender.withdraw(store, sent, context.link.clock())

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


def _as_recipient(context: Context, agent: str) -> tuple[str, str, str]:
    """Return how an agent is named to whom one writes: above the text, by the key that sends it, and as a choice."""
    member = next((one for one in context.state.members if one.name == agent), None)
    shown, until = agent_text.who(agent, 40), read_when(context, agent)
    asks = ", not an answer to its question" if member is not None and member.ask is not None else ""
    when = f". Read when {until}" if until is not None else ""
    return f"Message to {shown}{asks}{when}", "Send", f"To {shown}"


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
        recipients.append(Recipient(f"message {agent}", *_as_recipient(context, agent)))
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
