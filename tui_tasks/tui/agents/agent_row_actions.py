"""The human's actions on the agent under the cursor in Agents, answers to its question, and the keys at the foot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.operations.asks import AnswerAsk, SendMessage
from tui_tasks.core.read import job_queries, work_queries
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.rules.agents.request_text import allows
from tui_tasks.core.vocab import LIVE_WORK
from tui_tasks.hooks.replies import reply_sender
from tui_tasks.hooks.replies.reply_sender import why_unanswerable
from tui_tasks.text.times import past
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import give_back, take_back, why_not_given_back, why_not_yet
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.answer_keys import READ_FIRST, answer_keys, answer_word, no_title, send_answer
from tui_tasks.tui.asks.ask_views import AskView
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.inputs.editor import TextDialog
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.context import Hint
from tui_tasks.tui.work import attaching, work_actions

if TYPE_CHECKING:
    from tui_tasks.tui.agents.agents_screen import AgentsScreen


NO_TURN: Final = ("idle", "failed", "interrupted")
"""The states of agents that are there and do nothing that could be ended."""


class AgentRowActions(Controller):
    """The actions of the scope `agents`."""

    def __init__(self, screen: AgentsScreen) -> None:
        self._screen = screen
        self._context = screen.context

    @override
    def why_not(self, action: Action) -> str | None:
        """Names what the agent under the cursor lacks or cannot do."""
        member = self._screen.member
        if action.id in ("work_start", "work_end"):
            return self._why_no_work(action.id)
        if action.needs != "agent":
            return None
        if member is None:
            return None if action.id == "agent_log" and self._screen.is_on_gone else "No agent is under the cursor."
        name = agent_text.who(member.name, 30)
        if action.id == "agent_stop":
            if member.session is None:
                return f"{name} has no turn to end: pause it, or write to it."
            if member.state == "gone":
                return f"{name} is gone: it has no turn to end."
            if member.state == "stopped":
                return f"{name} is suspended: continue its process first (fg, or kill -CONT)."
            if member.state in NO_TURN:
                return f"{name} is {member.state}: it has no turn to end."
            if not agent_text.has_hooks(member.session):
                key = self._context.keymap.key_of("palette")
                end = f" {key} discard ends it." if self._live_work() is not None else ""
                return f"{name} has no hooks: it hears nothing.{end}"
        if action.id == "agent_give_back":
            task = self.task_or_failed
            why = why_not_given_back(self._context, task) if task is not None else f"{name} has no task to give back."
            if why is not None:
                return why
        return why_not_yet(member.name) if action.writes and not self._screen.has_stood() else None

    def _why_no_work(self, action: str) -> str | None:
        member = self._screen.member
        if member is None:
            return "No agent is under the cursor."
        name, task = agent_text.who(member.name, 30), self.task_or_failed
        if action == "work_end" and self._live_work() is None:
            return f"{name} is at no work that was started here."
        if action == "work_start" and (task is None or task.deleted):
            return f"{name} has no task: start an agent on a task in the list."
        return None if self._screen.has_stood() else why_not_yet(member.name)

    def _live_work(self) -> Work | None:
        """Return the work on which the agent under the cursor was started, unless it is over."""
        member = self._screen.member
        work = work_queries.of_agent(self._context.db, member.name) if member is not None else None
        return work if work is not None and work.state in LIVE_WORK else None

    @override
    def title(self, action: Action) -> str:
        """An agent is started on the task of the one under the cursor."""
        return "Start another agent on its task" if action.id == "work_start" else super().title(action)

    async def do_work_start(self) -> None:
        """Start another agent on the agent's task, or on the one at which it failed."""
        from tui_tasks.tui.work import start_form  # for those who start agents alone

        if (task := self.task_or_failed) is not None:
            await start_form.start(self._context, [task.uid], lambda: self._screen.is_active)

    async def do_work_end(self) -> None:
        """Discard the agent's work, once confirmed; undo brings it back."""
        work = self._live_work()
        done = await work_actions.discard(self._context, work) if work is not None else None
        if done is not None:
            self._context.say(done)

    async def do_agent_stop(self) -> None:
        """End its turn, with a message of why."""
        member = self._screen.member
        assert member is not None
        name = agent_text.who(member.name, 30)
        title, draft = f"End the turn of {name} with this message:", f"end {member.name}"
        if typed := self._context.typed_for("agent_stop"):
            self._context.drafts.setdefault(draft, typed)
        why = await self._context.ask(TextDialog(self._context, title, done="End its turn", draft=draft))
        if why is None:
            return
        text = why.strip() or "The human has ended your turn."
        await self._context.link.commit(SendMessage(member.name, text, ends_turn=True))
        program = member.session.program if member.session is not None else ""
        if job_queries.run_of_agent(self._context.db, member.name) is not None:
            how = "Its turn ends now, and its run with it."
        else:
            how = reply_sender.why_not(program, "stop") or "Its turn ends at its next tool."
        self._context.say(f"Sent to {name}. {how}")

    async def do_agent_give_back(self) -> None:
        """Ask for the status of the agent's current task, or of the one at which it failed."""
        if (task := self.task_or_failed) is not None:
            await give_back(self._context, task)

    @property
    def task_or_failed(self) -> TaskLine | None:
        """The task of the agent under the cursor, or the one at which it failed."""
        member = self._screen.member
        return member.failed_task or member.task if member is not None else None

    async def do_agent_take_back(self) -> None:
        """Take back all that it did since a moment, which is asked for."""
        member = self._screen.member
        assert member is not None
        clock, name = self._context.clock, agent_text.who(member.name, 30)
        title, hint = f"Revert what {name} did since:", "10m, 18:00, today, 2026-01-31, or all"
        prompt = LineDialog(self._context, title, draft=f"revert {member.name}", done="Revert", hint=hint)
        text = (await self._context.ask(prompt) or "").strip()
        if not text:
            return
        try:
            since = 0 if text.lower() == "all" else past(text, clock.now(), clock.zone)
        except ValueError as error:
            self._context.say(str(error))
            return
        await take_back(self._context, change_summaries.of_agent(self._context.db, member.name, since))

    def do_agent_log(self) -> None:
        """Review the work that it has ready, else go to its terminal, else show its log.

        On the line of those that are gone, show or fold them.
        """
        member = self._screen.member
        if member is None:
            self._screen.turn_gone()
        elif self._screen.to_review is not None:
            work_actions.review(self._context, self._screen.to_review.task_uid, member.name)
        elif attaching.why_not(self._context, member.name) is None:
            attaching.attach(self._context, member.name)
        else:
            self._context.navigation.show_log(member.name, self._screen.made_again)
            self._context.say("No terminal; showing its log.")


class AgentAnswers(Controller):
    """Answers the question of the agent under the cursor, also for `OptionKeys`."""

    def __init__(self, screen: AgentsScreen) -> None:
        self._screen = screen
        self._context = screen.context

    @override
    def why_not(self, action: Action) -> str | None:
        """Answers need a question, and a program that waits for the answer here."""
        if action.needs != "ask":
            return None
        ask = self._screen.ask
        if (answer := self._screen.answered) is not None:
            return f"Already answered: {ask_text.as_sentence(answer, 40)}"
        if ask is None:
            member = self._screen.member
            if member is None:
                return "No agent is under the cursor."
            return f"{agent_text.who(member.name, 30)} asks nothing."
        return why_unanswerable(self._context.db, ask)

    @override
    def takes_key(self, action: Action) -> bool:
        """The key that denies ends the turn where nothing can be denied, and the key that replies in the inbox writes a
        message here.
        """
        view = self._screen.view
        if action.id not in ("ask_deny", "ask_reply"):
            return True
        if self._screen.answered is not None:
            return action.id == "ask_deny"
        return action.id == "ask_deny" and view is not None and view.why_closed is None and view.denying is not None

    def give(self, view: AskView, answer: str) -> Any:
        """Answer a question that is shown to its end, and has stood there; else say where it can be read."""
        if not self._screen.shows_whole(view):
            self._say_where("Not answered")
            return None
        if self._screen.reading.has_stood(view.version, to_end=True):
            return self._answer(view, answer)
        self._context.say(READ_FIRST)
        return None

    def refuse(self, view: AskView, answer: str) -> Any:
        """Answer no; a permission may go on below what is shown."""
        if not view.is_permission:
            return self.give(view, answer)
        if not self._screen.shows(view):
            self._say_where("Not answered")
            return None
        if self._screen.reading.has_stood(view.version):
            return self._answer(view, answer)
        self._context.say(READ_FIRST)
        return None

    def do_ask_approve(self) -> Any:
        """Answer with the option that says yes, if there is one and no other can be chosen with it."""
        view = self._screen.view
        assert view is not None
        if view.takes_several or view.approving is None:
            self._say_where("Yes does not answer this")
            return None
        return self.give(view, view.approving)

    def do_ask_no(self) -> Any:
        """Answer with the option that says no, if there is one and no other can be chosen with it."""
        view = self._screen.view
        assert view is not None
        if view.takes_several or view.denying is None:
            self._say_where("No does not answer this")
            return None
        return self.refuse(view, view.denying)

    def _say_where(self, why: str) -> None:
        self._context.say(f"{why}: {self._context.keymap.key_of('agent_ask')} shows the whole question.")

    async def do_ask_deny(self) -> None:
        """Ask for the reason, then answer with the option that says no."""
        view = self._screen.view
        assert view is not None
        no = view.denying
        if not self._screen.shows(view):
            self._say_where("Not answered")
            return
        if no is None:
            self._say_where("No does not answer this")
            return
        title, done = no_title(view, agent_text.who(view.ask.agent, 30)), "Deny" if view.is_permission else "Send"
        why = await self._typed(view, title, done, draft=f"no {view.ask.uid}")
        if why is not None:
            await self._answer(view, f"{no}: {why}" if why else no)

    async def do_ask_reply(self) -> None:
        """Open the input for an answer in the human's words."""
        view = self._screen.view
        assert view is not None
        if not self._screen.shows(view) or view.question is not None:
            self.do_agent_ask()
            return
        title = f"Reply to {agent_text.who(view.ask.agent, 30)}"
        text = await self._typed(view, title, "Send", draft=f"reply {view.ask.uid}")
        if text and (text in view.options or (view.is_permission and allows(text))):
            # In words that its program takes for an option.
            if (answering := self.give(view, text)) is not None:
                await answering
        elif text:
            await self._answer(view, text)

    def do_agent_ask(self) -> None:
        """Show the agent's question in the inbox; where it asks nothing, what others ask."""
        from tui_tasks.tui.inbox.inbox_screen import Inbox

        self._screen.release()
        ask = self._screen.ask
        if ask is None:
            self._context.do("asks")
        else:
            self._context.push(Inbox(self._context, ask.uid))

    async def _typed(self, view: AskView, title: str, done: str, *, draft: str) -> str | None:
        """Return what is typed about a question that had stood on screen by then; None where it is given up."""
        text: str | None = await self._context.ask(TextDialog(self._context, title, draft=draft, done=done))
        while text is not None and not self._screen.reading.has_stood(view.version):
            again = f"It came up just now: read it first. {title}"
            text = await self._context.ask(TextDialog(self._context, again, text, draft=draft, done=done))
        return text.strip() if text is not None else None

    async def _answer(self, view: AskView, answer: str) -> None:
        # It answers the question that was shown, even if the agent has asked another meanwhile.
        answered, agent = view.answered(answer), view.ask.agent
        if not isinstance(answered, AnswerAsk):
            return
        self._screen.hold(agent, answer)
        is_sent = False
        try:
            is_sent = await send_answer(self._context, answered, view.ask)
        finally:
            if not is_sent:
                self._screen.release()
        if is_sent:
            self._context.say(f"Sent to {agent_text.who(agent, 30)}: {ask_text.as_sentence(answer, 60)}")


def agent_hints(screen: AgentsScreen) -> Sequence[Hint]:
    """Return the hints at the foot for the agent under the cursor, in the order of use."""
    hint, view, member = screen.hint_of, screen.shown_view, screen.member
    if screen.is_on_gone:
        return hint("agent_log", "Fold" if screen.shows_gone else "Show them"), hint("back"), hint("help")
    answers = answer_keys(view) if view is not None else ()
    hints = _answer_hints(screen, view, answers) if view is not None else []
    if view is None and member is not None and member.ask is not None:
        hints = [hint("agent_ask", "Next question")]
    if screen.small:
        return *hints, *map(hint, ("seen", "back", "agent_message", "help"))
    is_stuck = member is not None and (member.stuck is not None or member.name in screen.order.have_left)
    task = member.failed_task or (member.task if is_stuck else None) if member is not None else None
    back = ("agent_give_back",) if task is not None and why_not_given_back(screen.context, task) is None else ()
    hears = member is not None and member.session is not None and agent_text.has_hooks(member.session)
    has_turn = member is not None and hears and member.state not in ("gone", *NO_TURN)
    stop = ("agent_stop",) if has_turn and "ask_no" not in answers else ()
    # One that has ended reads nothing.
    has_ended = member is not None and member.failed_work is not None
    actions = screen.agent_actions
    can_pause = actions.can_be_paused and not has_ended
    pause = [hint("agent_pause", "Resume" if actions.is_paused else "")] if can_pause else []
    is_ours = member is not None and work_queries.of_agent(screen.context.db, member.name) is not None
    peek = ("agent_peek",) if is_ours else ()
    log = hint("agent_log", "Review" if screen.to_review is not None else "Terminal" if is_ours else "")
    first = map(hint, ("seen", "back", *(() if has_ended else ("agent_message",))))
    start = ("work_start",) if has_ended else ()
    return *hints, *first, *pause, *map(hint, (*start, *back, *stop, *peek)), log, hint("help")


def _answer_hints(screen: AgentsScreen, view: AskView, keys: Sequence[str]) -> Sequence[Hint]:
    """Return the keys that answer a question from here, as the inbox names them, then the key that opens it there: to
    choose an option, or as in the list.
    """
    hint = screen.hint_of
    word = "Choose" if view.options and not screen.offers_to_open else "Answer"
    answer = hint("agent_ask", word if view.why_closed is None else "")
    if view.takes_several or screen.offers_to_open:
        return [answer]
    return [*(hint(each, answer_word(view, each)) for each in keys), answer]
