"""Answers to an agent's question: an option by its number, approval or denial, or the human's own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.asks import SettleAsks
from tui_tasks.core.read import ask_queries
from tui_tasks.core.rules.agents.request_text import DENY, allows
from tui_tasks.hooks.replies import reply_sender
from tui_tasks.text.safe import cell_len, whole_text
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_messages import send_message
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.answer_keys import READ_FIRST, send_answer, why_not_answered
from tui_tasks.tui.asks.ask_views import AskView, Given
from tui_tasks.tui.asks.reply_input import Reply
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.inputs.dialogs import Choice, Menu
from tui_tasks.tui.inputs.editor import TextDialog
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.inbox.inbox_screen import Inbox
    from tui_tasks.tui.inbox.questions import Questions


class AskAnswers(Controller):
    """Answers the question under the cursor, by a key or in an input, also for `OptionKeys`."""

    def __init__(self, inbox: Inbox, questions: Questions, reply: Reply) -> None:
        self._inbox = inbox
        self._questions = questions
        self._reply = reply
        self._context = inbox.context
        # The answers to several questions of a program that were given before the human went back among them.
        self._went_back_from: dict[str, tuple[Given, ...]] = {}
        # The version of the question that an option's number has last shown a further part of.
        self._paged: object = None

    @override
    def why_not(self, action: Action) -> str | None:
        """Answers need an open question, and a program that waits for an answer from the inbox."""
        if action.needs != "ask":
            return None
        ask = self._questions.here
        if action.id == "ask_before" and ask is None and self._questions.has_answered:
            return None
        # Elsewhere a number shows a pane.
        back = f"{self._context.keymap.key_of('back')} goes back to the panes." if action.verb == "number" else ""
        if self._inbox.rows.folded is not None:
            return f"{self._context.keymap.key_of('ask_open')} lists these questions: answer each there."
        item = self._inbox.item
        if action.id == "ask_no" and item is not None and self._inbox.sources[item.kind].has_verb("refuse"):
            return f"{self._context.keymap.key_of('review_decline')} declines the task and asks for the reason."
        if ask is None and back:
            return f"A number answers only a question under the cursor. {back}"
        if ask is None and action.id == "ask_later" and self._inbox.item is not None:
            dismisses = (
                f": {self._context.keymap.key_of('dismiss')} dismisses this row" if self._inbox.rows.can_dismiss else ""
            )
            return f"{self._context.keymap.key_of('ask_later')} is for questions{dismisses}."
        if ask is None:
            return self._why_no_question()
        if action.id in ("ask_before", "ask_after"):
            return None
        if ask.state == "answered":
            answer = ask_text.in_one_line(ask.answer or "")
            if action.id == "ask_reply":
                back = f"{self._context.keymap.key_of('ask_reply')} replies only to an open question."
            return f"Already answered: {ask_text.as_sentence(answer, 60)} {back}".rstrip()
        if ask.state != "open":
            return f"Not sent: {ask_text.closed(ask, self._context.clock.now())}."
        if (why := self._questions.why_not_yet) is not None:
            return why
        if action.id == "ask_later":
            return None
        view = self._questions.view_of(ask)
        if action.id == "ask_edit":
            return view.why_closed or self._why_not_edited(view)
        if action.id == "ask_deny" and view.why_closed is None and view.options and view.denying is None:
            return why_not_answered("No", view, self._context)
        return view.why_closed

    def _why_not_edited(self, view: AskView) -> str | None:
        """Return why the human cannot edit what a question asks for, or not yet; None if they can."""
        if not view.is_permission:
            return "You can edit only the input of a tool."
        why = reply_sender.why_not((view.ask.request or {})["program"], "edit_input")
        if (why := why or self.why_not_sent(view, to_end=True)) is None and view.whole is not None:
            # The editor would keep it in a file.
            why = "A redacted or shortened request cannot be edited here."
        return why

    def _why_no_question(self) -> str:
        """Return that no question is here, and what the key that opens a row does to the row that is."""
        if (item := self._inbox.item) is None:
            return "Nothing needs you."
        opens = ACTIONS[self._inbox.sources[item.kind].OPEN]
        title = opens.title[0].lower() + opens.title[1:]
        return f"No question is under the cursor. {self._context.keymap.key_of(opens.id)}: {title}."

    @override
    def takes_key(self, action: Action) -> bool:
        """A row that is not a question handles its own keys."""
        if (item := self._inbox.item) is not None:
            return not self._inbox.sources[item.kind].has_verb(action.verb)
        # Where no question can be answered, the key that replies writes to the agent; but not where one was answered
        # just now: the words would be for the next question, of another agent.
        ask = self._questions.here
        can_reply = ask is not None and ask.state == "open" and self._questions.view_of(ask).why_closed is None
        return action.id != "ask_reply" or can_reply or (ask is not None and ask.state == "answered")

    @override
    def opens_input(self, action: Action) -> bool:
        """A question that takes neither yes nor no is not denied; the key that is named instead comes next."""
        view = self._questions.view
        return action.id != "ask_deny" or view is None or view.denying is not None

    def why_not_sent(self, view: AskView, *, to_end: bool = False) -> str | None:
        """Return why a key cannot answer a question yet, as when it was not read to its end; None if it can."""
        if view.ask.state != "open":
            return None
        if view.why_closed is not None:
            return view.why_closed
        if to_end and not view.is_whole:
            key = self._context.keymap.key_of("ask_reply")
            return f"Not all of this question can be shown: deny it, or answer it in your own words with {key}."
        if to_end and not self._inbox.reading.is_read(view.version):
            return f"More below: {self._context.keymap.key_of('page_down')} to its end first."
        return None if self._inbox.reading.has_stood(view.version, to_end=to_end) else READ_FIRST

    def give(self, view: AskView, answer: str) -> Any:
        """Answer a question with one of its options; it must have been shown to its end."""
        if (why := self._why_not_given(view, answer)) is None:
            return self._answer(view, answer)
        self._context.say(why)
        return None

    def refuse(self, view: AskView, answer: str) -> Any:
        """Answer no; a permission may go on below what is on screen."""
        if (why := self.why_not_sent(view, to_end=not view.is_permission)) is None:
            return self._answer(view, answer)
        self._context.say(why)
        return None

    def _why_not_given(self, view: AskView, answer: str) -> str | None:
        to_end = not (view.is_permission and answer == DENY and not view.is_whole)
        return self.why_not_sent(view, to_end=to_end)

    def give_option(self, view: AskView, number: int) -> Any:
        """Answer a question with the option of a number, which must be on screen.

        Of an agent's own question that goes on below, show the next part instead; a permission is read to its end by
        the keys that scroll. A key that is pressed on and on shows its end and does not answer: the end must have stood
        for a while since the last such key.
        """
        answer = view.options[number - 1]
        why = self._why_not_given(view, answer)
        if why is None and not self._questions.shows_option(number):
            self._context.say(f"Option {number} is not on screen: scroll to it first.")
            return None
        key = self._context.keymap.key_of(f"ask_{number}")
        if why == READ_FIRST and view.version == self._paged:
            self._inbox.reading.wait_again()
            self._context.say(f"Not sent, its end came just now: read it, then {key} again.")
            return None
        if why is not None and self._goes_on_below(view):
            self._paged = view.version
            self._questions.page_down()
            self._context.say(f"More below: read it to its end, then press {key} again.")
            return None
        return self.give(view, answer)

    def _goes_on_below(self, view: AskView) -> bool:
        """Return whether an agent's own question could be answered here once it is read to its end."""
        is_own = view.ask.request is None and view.is_whole and view.why_closed is None
        return is_own and view.ask.state == "open" and not self._inbox.reading.is_read(view.version)

    def do_ask_edit(self) -> None:
        """Edit the input of a tool. A key allows it only after the screen has shown it: another process could write
        the editor's file.
        """
        ask = self._questions.here
        assert ask is not None
        view = self._questions.view_of(ask)
        before = _visible_json(view.asked.input)
        text = editor.edit(self._context, before)
        if text is None:
            self._context.say("Nothing was changed, and nothing sent.")
            return
        try:
            given = json.loads(text)
        except ValueError as error:
            self._context.say(f"Nothing was sent: this is not JSON ({error}).")
            return
        if not isinstance(given, dict):
            self._context.say("Nothing was sent: the input must be a JSON object.")
            return
        self._questions.edit(ask, given)
        self._context.say(f"Not sent yet: read it, {self._context.keymap.key_of('ask_approve')} allows it so.")

    def do_ask_deny(self) -> None:
        """Ask for the reason, then answer with the option that says no."""
        view = self._questions.view
        assert view is not None
        if view.denying is None:
            self._context.say(why_not_answered("No", view, self._context))
            return
        self._open_reply(view.ask, "deny")

    def do_ask_reply(self) -> None:
        """Open the input for an answer in the human's words."""
        ask = self._questions.here
        assert ask is not None
        self._open_reply(ask, "reply")

    def do_ask_before(self) -> None:
        """Return to the previous of several questions of a program, else to the question that was answered last."""
        view = self._questions.view
        if view is not None and view.given:
            later = self._went_back_from.get(view.ask.uid, ())
            if later[: len(view.given)] != view.given:
                self._went_back_from[view.ask.uid] = view.given
            self._questions.ask_next(view.ask, view.given[:-1])
        elif not self._questions.go_to_answered(-1):
            up = self._context.keymap.key_of("up")
            yet = "before this one" if self._questions.has_answered else "yet"
            self._context.say(f"You have answered no question here {yet}. {up} moves up.")

    def do_ask_after(self) -> None:
        """Return to where the key that goes back was pressed: to the later of several questions, or the next row."""
        view = self._questions.view
        assert view is not None
        later = self._went_back_from.get(view.ask.uid, ())
        if view.ask.state != "open" and self._questions.go_to_answered(1):
            return
        if view.ask.state != "open" and self._context.state.asks:
            self._inbox.go_to_next()
        elif len(later) > len(view.given) and later[: len(view.given)] == view.given:
            self._questions.ask_next(view.ask, later[: len(view.given) + 1])
        else:
            back, down = map(self._context.keymap.key_of, ("ask_before", "down"))
            self._context.say(f"{back} has gone back to no question. {down} moves down.")

    def send_reply(self, event: Reply.Given) -> None:
        """Send the typed text: as the answer, or as a message when the question has been closed."""
        ask = ask_queries.ask(self._context.db, event.uid)
        view = self._questions.view_of(ask)
        if ask.state != "open":
            if event.text:
                self._context.run(send_message(self._context, ask.agent, event.text))
        elif event.kind == "deny":
            no = view.denying or "deny"
            self._context.run(self._answer(view, f"{no}: {event.text}" if event.text else no))
        elif event.text in view.options or (view.is_permission and allows(event.text)):
            # In words that its program takes for an option.
            if (answering := self.give(view, event.text)) is not None:
                self._context.run(answering)
        elif event.text:
            self._context.run(self._answer(view, event.text))

    async def _answer(self, view: AskView, answer: str) -> None:
        ask = view.ask
        answered = view.answered(answer)
        self._reply.drafts.pop(ask.uid, None)
        if isinstance(answered, AskView):
            self._questions.ask_next(ask, answered.given)
            return
        if not await send_answer(self._context, answered, ask):
            return
        # It stays while others ask: no number of those that are left.
        key_of, more = self._context.keymap.key_of, "That was the last question."
        if self._questions.answered(ask):
            more = f"{key_of('ask_before')} shows it."
        elif any(other.uid != ask.uid for other in self._context.state.asks):
            more = f"{key_of('ask_open')} goes on."
        sent = ask_text.in_one_line(answered.answer)
        head = "Sent" if self._inbox.small else f"Sent to {agent_text.who(ask.agent, 20)}"
        room = self._inbox.size.width - cell_len(head) - cell_len(more) - 5
        self._context.say(f"{head}: {ask_text.as_sentence(sent, max(8, room))} {more}")

    def do_ask_later(self) -> None:
        """Put the question off and show the next one; leave the inbox if there is none."""
        ask = self._questions.here
        assert ask is not None
        self._inbox.put_off(ask)

    async def do_ask_all(self) -> None:
        """Answer all questions of the agent with the same words, or withdraw them."""
        context, agent = self._context, self._inbox.rows.agent_here()
        own = self._inbox.shown_asks(agent) if agent is not None else []
        if agent is None or not own:
            is_new = any(ask.agent == agent for ask in context.state.asks)
            context.say(READ_FIRST if is_new else "It asks nothing now.")
            return
        title = f"{count(len(own), 'open question')} of {agent_text.who(agent, 30)}:"
        choices = [
            Choice("a", "answer each with the same words; a permission is denied with them"),
            Choice("w", "withdraw them: nobody answers, and programs ask in their own windows"),
        ]
        key = await context.ask(Menu(context, title, choices))
        words = None
        if key == "a":
            dialog = TextDialog(context, f"Answer to {title[:-1]}", done="Send", draft=f"answers {agent}")
            words = await context.ask(dialog)
        if key is None or (key == "a" and not (words or "").strip()):
            return
        (settled,) = await context.link.commit(SettleAsks(tuple(own), words.strip() if words else None))
        what = "Answered" if words else "Withdrawn"
        context.say(f"{what}: {count(len(settled), 'question')} of {agent_text.who(agent, 30)}.")

    def _open_reply(self, ask: Ask, kind: str) -> None:
        self._reply.open(ask, kind)
        self._inbox.hints_again()


def _visible_json(value: Any) -> str:
    """Return a value as JSON for the editor, with invisible characters as escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "".join(char if char == "\n" or whole_text(char) == char else json.dumps(char)[1:-1] for char in text) + "\n"
