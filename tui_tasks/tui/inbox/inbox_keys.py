"""The keys of the inbox: those at the foot for the row under the cursor, and what they do with the rows as a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.rules.agents.request_text import MAX_OPTIONS
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.answer_keys import answer_keys, answer_word
from tui_tasks.tui.asks.ask_views import AskView
from tui_tasks.tui.inbox.held_tasks import HeldTasks
from tui_tasks.tui.inbox.inbox_lines import InboxLine, kind_of
from tui_tasks.tui.inputs.dialogs import FilterDialog
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.needs.open_needs import Kind
from tui_tasks.tui.state.context import Hint
from tui_tasks.tui.tasks.mark_actions import mark_one, mark_range
from tui_tasks.tui.work import attaching

if TYPE_CHECKING:
    from tui_tasks.tui.inbox.inbox_screen import Inbox


def inbox_hints(inbox: Inbox) -> Sequence[Hint]:
    """Return the hints for what is under the cursor, in the order of use; then those of the list."""
    hints = _hints_here(inbox)
    if inbox.small:
        return hints
    parts = {_part_of(line) for line in inbox.listed.rows}
    # The key dismisses this row, or marks everything as seen.
    seen = [] if inbox.rows.can_dismiss else [inbox.hint_of("seen")]
    return *hints, *([inbox.hint_of("inbox_part")] if len(parts) > 1 else []), *seen, inbox.hint_of("help")


def _hints_here(inbox: Inbox) -> Sequence[Hint]:
    """Return the hints for the question, the row of another kind or the folded questions under the cursor."""
    hint, ask = inbox.hint_of, inbox.ask
    if inbox.rows.folded is not None:
        return hint("ask_open", "List"), *map(hint, ("ask_all", "agent_message", "back"))
    if inbox.item is not None:
        ids = inbox.sources[inbox.item.kind].foot(inbox.item.row)
        return [*map(hint, ids[:3] if inbox.small else ids), hint("back")]
    if ask is None:
        return [hint("back")]
    if ask.state != "open":
        word = "Next" if inbox.context.state.asks else "Back"
        message = [] if ask.state == "answered" else [hint("agent_message", "Message")]
        return hint("ask_open", word), *message
    view = inbox.questions.view_of(ask)
    if view.why_closed is not None:
        there = [hint("ask_open", "Terminal")] if _is_for_terminal(inbox, ask) else []
        later = hint("ask_later", "later" if inbox.small else "")
        return *there, hint("agent_message", "Message"), later, hint("back")
    return _short_answers(inbox, view) if inbox.small else _answers(inbox, view)


def _is_for_terminal(inbox: Inbox, ask: Ask) -> bool:
    """Return whether a question can be answered in its agent's terminal alone, and there is a way to that."""
    view = inbox.questions.view_of(ask)
    return view.why_closed is not None and attaching.why_not(inbox.context, ask.agent) is None


def _answers(inbox: Inbox, view: AskView) -> Sequence[Hint]:
    hint = inbox.hint_of
    pick = [*_read_on(inbox, "More"), *_pick(inbox, view, "Choose")]
    before = ["ask_before"] if view.given else []
    task = inbox.context.state.asked_about.get(view.ask.uid, "")
    opens = [hint("ask_open", "Task")] if agent_text.live_task(inbox.context.db, task) is not None else []
    last = [*map(hint, (*before, "ask_later")), *([] if view.picks else opens), hint("back")]
    if view.takes_several:
        keys = "/".join(map(inbox.context.keymap.key_of, ("ask_open", "ask_approve")))
        send = [(keys, f"Send {len(view.picked)} chosen", "ask_approve")] if view.picked else []
        return *pick, *send, hint("ask_reply"), *last
    can_edit = view.is_permission and (view.ask.request or {}).get("program") == "claude"
    more = [*(["ask_always"] if view.always else []), *(["ask_edit"] if can_edit else [])]
    answers = [hint(key, answer_word(view, key)) for key in _keys(inbox, view)]
    return *pick, *answers, *map(hint, more), hint("ask_reply"), *last


def _short_answers(inbox: Inbox, view: AskView) -> Sequence[Hint]:
    """Return what fits on a small screen: `1-3 pick  y/n allow/deny  m reply  Esc`."""
    key_of = inbox.context.keymap.key_of
    pick = [*_read_on(inbox, "more"), *_pick(inbox, view, "pick")]
    keys = _keys(inbox, view)
    word = "send" if view.takes_several else "/".join(answer_word(view, key).lower() for key in keys)
    shown = ["ask_open", *keys] if view.takes_several else keys
    both = [("/".join(map(key_of, shown)), word, "")] if keys else []
    reply, later = inbox.hint_of("ask_reply", "reply"), inbox.hint_of("ask_later", "later")
    return *pick, *both, reply, (key_of("back"), "", "back"), later


def _ways_to_answer(inbox: Inbox, view: AskView) -> str:
    """Return `1-2 answers it, m replies in your own words`."""
    reply = f"{inbox.context.keymap.key_of('ask_reply')} replies in your own words"
    if view.takes_several:
        send = inbox.context.keymap.key_of("ask_approve")
        return f"1-{min(len(view.options), MAX_OPTIONS)} tick options, {send} sends what is ticked, {reply}"
    keys = [key for key, *_ in _pick(inbox, view, "")] or [*map(inbox.context.keymap.key_of, _keys(inbox, view))]
    answers = [f"{' or '.join(keys)} answers it"] if keys else []
    return ", ".join([*answers, reply])


def _keys(inbox: Inbox, view: AskView) -> Sequence[str]:
    """Return the actions that answer yes and no now: before its end was read, a permission can be refused alone."""
    keys = answer_keys(view)
    return [key for key in keys if view.is_permission and key == "ask_no"] if inbox.questions.is_to_read else keys


def _read_on(inbox: Inbox, word: str) -> list[Hint]:
    """Return the hint of the key that shows what a question has below the screen, which is to be read first."""
    return [inbox.hint_of("page_down", word)] if inbox.questions.is_to_read else []


def _pick(inbox: Inbox, view: AskView, word: str) -> list[Hint]:
    """Return the hint of the keys of the options; empty without options, where a permission is to be read first, and
    where nobody can answer.
    """
    is_off = inbox.context.link.read_only or (view.is_permission and inbox.questions.is_to_read)
    number = min(len(view.options), MAX_OPTIONS) if not is_off else 0
    return [(f"1-{number}" if number > 1 else "1", word, "")] if number else []


_PARTS: Final = {Kind.JOBS: Kind.FAILED, Kind.LATE_JOBS: Kind.LATE}


def _part_of(line: InboxLine) -> Kind:
    """Return the part of the inbox that a line is in: failed tasks and jobs are one, and late ones."""
    return _PARTS.get(kind_of(line), kind_of(line))


class RowActions(Controller):
    """The actions on the rows of the inbox as a list."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @override
    def takes_key(self, action: Action) -> bool:
        """The key of the next kind does nothing where there is one kind alone; the key that dismisses an agent or a
        failure marks everything as seen on other rows.
        """
        if action.id == "dismiss":
            return self._inbox.rows.can_dismiss
        return action.id != "inbox_part" or len(set(map(_part_of, self._inbox.listed.rows))) > 1

    @override
    def why_not(self, action: Action) -> str | None:
        """Only some rows can be dismissed, and only held tasks marked."""
        item, rows = self._inbox.item, self._inbox.listed.rows
        if action.id == "dismiss" and not self._inbox.rows.can_dismiss:
            return "Only agents and failures can be dismissed."
        if action.id == "review_mark" and (item is None or item.kind != HeldTasks.KIND):
            return "Only held tasks can be marked."
        if action.id == "review_mark_all" and all(kind_of(line) != Kind.HELD for line in rows):
            return "Only held tasks can be marked, and none is here."
        return super().why_not(action)

    async def do_dismiss(self) -> None:
        """Dismiss the row until it needs the human again."""
        context, item = self._inbox.context, self._inbox.item
        if item is None:
            return
        failed = item.need.task if item.need.kind == Kind.FAILED else None
        context.state.seen.dismiss(item.uid, context.clock.now(), failed)
        context.navigation.all_seen()
        context.redraw_frame()
        name = " ".join(filter(None, (item.number, f"“{safe_line(item.title, 40)}”")))
        context.say(f"Dismissed: {name}. {context.keymap.key_of('undo')} brings it back.")
        await context.link.remember(local_values.DISMISSED, context.state.seen.dismissed)

    def do_ask_open(self) -> None:
        """Send the options that are chosen, else open the task that it is about; where it is answered, go on to the
        next.
        """
        inbox, ask = self._inbox, self._inbox.ask
        task = inbox.context.state.asked_about.get(ask.uid) if ask is not None else None
        if inbox.item is not None:
            inbox.action_act(inbox.sources[inbox.item.kind].OPEN)
        elif inbox.rows.folded is not None:
            inbox.unfold(inbox.rows.folded)
        elif ask is None:
            inbox.do_back()
        elif ask.state != "open":
            inbox.go_to_next()
        elif (why := inbox.questions.why_not_yet) is not None:
            inbox.context.say(why)
        elif inbox.questions.view_of(ask).picks:
            inbox.action_act("ask_approve")
        elif _is_for_terminal(inbox, ask):
            attaching.attach(inbox.context, ask.agent)
        elif task is not None and agent_text.live_task(inbox.context.db, task) is not None:
            inbox.open_task(task)
        elif (view := inbox.questions.view_of(ask)).why_closed is not None:
            inbox.context.say(view.why_closed)
        elif not view.options and view.approving is None:
            inbox.action_act("ask_reply")
        else:
            why = "" if view.takes_several else "This question is about no task: "
            inbox.context.say(f"{why}{_ways_to_answer(inbox, view)}.")

    def do_inbox_part(self) -> None:
        """Go to the first row of the next part, as from what failed to what is late."""
        if self._inbox.is_replying or not self._inbox.listed.rows:
            return
        here = self._inbox.rows.here
        parts = [_part_of(line) for line in self._inbox.listed.rows]
        at = parts.index(_part_of(here)) if here is not None else 0
        others = [part for part in dict.fromkeys(parts[at:] + parts[:at]) if here is None or part != _part_of(here)]
        if others:
            self._inbox.window.move_to(self._inbox.listed.rows[parts.index(others[0])].uid)

    def do_review_mark(self) -> None:
        """Mark the held task, or take its mark away."""
        if self._inbox.item is not None:
            mark_one(self._inbox.context, self._inbox.window, "task")
            self._inbox.marks_changed()

    def do_review_mark_all(self) -> None:
        """Mark the held tasks from the last mark on; else all that are listed; where all are marked, none."""
        inbox = self._inbox
        if mark_range(inbox.context, inbox.window, "task", takes=lambda line: kind_of(line) == Kind.HELD):
            inbox.marks_changed()
            return
        keys = [line.uid for line in self._inbox.listed.rows if kind_of(line) == Kind.HELD]
        self._inbox.window.mark(keys, on=len(self._inbox.window.marks) < len(keys))
        self._inbox.marks_changed()

    def do_review_filter(self) -> None:
        """List only the rows that contain some words."""
        context, inbox = self._inbox.context, self._inbox
        context.push(FilterDialog(context, inbox.rows.filter, inbox.filter_by, hint="words, a list, an agent"))
