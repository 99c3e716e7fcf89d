"""The forms of a start and of an accept of work.

A start: which program, where, and extra words. An accept: what will be merged into what, how, and which checks stand in
between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_tasks.text.glyphs import PROOF_LOOKS, look, sign
from tui_tasks.text.safe import one_to_one, safe_ends, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.answer_keys import Reading
from tui_tasks.tui.inputs.dialogs import DRAFT, keep_draft
from tui_tasks.tui.inputs.editor import LINE_KEYS, TextInput
from tui_tasks.tui.inputs.form_screen import ChoiceLine, Option
from tui_tasks.tui.layout import is_compact
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Dialog, plain
from tui_tasks.tui.work.review_text import WorkFacts
from tui_tasks.work import starting
from tui_tasks.work.accepting import commit_message

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context, Hint
    from tui_tasks.work.git.merging import Method


_BASES: Final = re.compile(r"(?<!\S)base:(\S+)[^\S\n]*")


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """What the human has chosen.

    Attributes:
        program: the program.
        place: `new` (a new worktree), `here` (the checkout itself), `race` (a new worktree while another agent is at
            work on the task) or `beside` (in the worktree of the agent that is).
        typed: extra words for the agent, also `base:` with a branch.
    """

    program: str
    place: str
    typed: str

    @property
    def base(self) -> str:
        """The branch to begin on; empty: as set."""
        bases: list[str] = _BASES.findall(self.typed)
        return bases[-1] if bases else ""

    @property
    def words(self) -> str:
        """The extra words without that."""
        return _BASES.sub("", self.typed).strip()


def places(others: Sequence[str]) -> list[tuple[str, str]]:
    """Return the places to choose from, with their texts; `others` are the agents that are at work on the task."""
    if not others:
        return [("new", "a new worktree"), ("here", "this checkout")]
    race = ", ".join(others)
    return [("race", f"a new worktree, in a race with {race}"), ("beside", f"the worktree of {others[-1]}")]


R = TypeVar("R")


class _FootForm(Dialog[R | None], Generic[R]):
    """A form of lines at the foot: the last takes words, the others have a few values. Tab goes to the next line.

    Esc leaves without a result, and keeps the words for the next form with the same `draft`.
    """

    AUTO_FOCUS = "TextInput"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]
    LABEL_CELLS = 10
    DRAFT = DRAFT

    def __init__(self, context: Context, *, draft: str, words: str, hint: str, done: str) -> None:
        """`draft` names the form, and by id what it is about; `words` stand in it at first; `done` is Enter's word."""
        super().__init__(context)
        self.draft = draft
        self._given, self._done = words, done
        keys: dict[str, Callable[[], object]] = {"enter": self.submit, "escape": self.action_leave}
        keys |= {"tab": self.focus_next, "shift+tab": self.focus_previous}
        self.keys = {**keys, "down": self.focus_next, "up": self.focus_previous, "q": self.action_leave}
        self.keys["question_mark"] = self._say_keys
        """The keys of the lines of values, where a letter is no text."""
        keys |= {"down": self._down, "up": self._up}
        self.words = TextInput(context, context.drafts.get(draft, words), id="answer", placeholder=hint, keys=keys)

    def on_mount(self) -> None:
        """Say of words that an earlier form has kept that they are a draft, unless they could not be used just now."""
        if self.context.drafts.get(self.draft, self._given) != self._given and not self.problem:
            self.query_one(FootLine).say(self.DRAFT)

    def _say_keys(self) -> None:
        """Say what the keys do on a line of values."""
        self.context.say(f"←→ or a first letter changes the value, Tab goes on; Enter: {self._done}; Esc goes back.")

    def _up(self) -> None:
        """Go to the line of text above, from the first one to the field above."""
        if self.words.cursor_at_first_line:
            self.focus_previous()
        else:
            self.words.action_cursor_up()

    def _down(self) -> None:
        """Go to the line of text below, from the last one to the field below."""
        if self.words.cursor_at_last_line:
            self.focus_next()
        else:
            self.words.action_cursor_down()

    def line(self, label: str, field: Widget) -> Widget:
        """Return a field behind its label."""
        return Horizontal(Static(self._label(label), classes="label", name=label), field, classes="line")

    def _label(self, label: str, *, is_here: bool = False) -> Content:
        return plain(
            f" {sign('cursor') if is_here else ' '} {label:<{self.LABEL_CELLS}}", "$key" if is_here else "$muted"
        )

    def on_descendant_focus(self) -> None:
        """Mark the line with the focus."""
        for line in self.query(".line").results(Horizontal):
            label = line.query_one(".label", Static)
            label.update(self._label(label.name or "", is_here=self.focused in line.children))
        self.show_keys()

    def show_keys(self) -> None:
        """Show the keys of the line with the focus."""
        hints = LINE_KEYS if self.focused is self.words else ()
        if isinstance(self.focused, ChoiceLine) and self.focused.has_choice:
            hints = (("←→", "Change", ""),)
        self.query_one(FootLine).hint(*self.first_keys(), ("Tab", "Next field", ""), *hints, ("Esc", "Back", ""))

    def first_keys(self) -> Sequence[Hint]:
        """Return the keys that the foot names first: that of the end."""
        return (("Enter", self._done, ""),)

    def submit(self) -> None:
        """End with what was chosen."""
        raise NotImplementedError

    def end(self, result: R, action: str) -> None:
        """End with a result; what is typed on at once is for this form, which the key of `action` opens."""
        self.dismiss(result)
        key = self.context.keymap.key_of(action)
        self.context.expect_more(action, f"The form is closed: {key} opens it again")

    def action_leave(self) -> None:
        """Leave without a result."""
        text = self.words.value
        self.dismiss(None)
        keep_draft(self.context, self.draft, text, self._given)


class StartForm(_FootForm[StartAnswer]):
    """The form, at the foot. Result: the choice, or None.

    Who types a title where no input is open may not see that its `W` opens this form: what is typed on at once starts
    no agent without a second Enter.
    """

    LABEL_CELLS = 14

    def __init__(
        self,
        context: Context,
        title: str,
        programs: Mapping[str, bool],
        first: str,
        others: Sequence[str] = (),
        before: StartAnswer | None = None,
        *,
        draft: str,
        failed: Mapping[str, str],
    ) -> None:
        """`programs`: whether each is installed; `failed`: why the newest agents of some have failed; `others` are the
        agents that are at work on the task already; `before` is the choice that could not be done.
        """
        hint = "more for the agent, base:BRANCH, or nothing"
        super().__init__(context, draft=draft, words="", hint=hint, done="Start")
        self._title = title
        self._installed = programs
        mark = look("agent_failed").mark(ascii_only=context.ascii_only)
        notes = {name: f"{mark} last time: {safe_line(why, 80)}" for name, why in failed.items()}
        notes |= {name: "not installed" for name, is_installed in programs.items() if not is_installed}
        self._programs = [Option(name, note=notes.get(name, "")) for name in programs]
        self._first = first
        self._places = [Option(*place) for place in places(others)]
        self._place = before.place if before is not None else ""
        self._opened_at = monotonic()
        self._is_first_key, self._is_typed_on = before is None, False

    def compose(self) -> ComposeResult:
        """Compose the choices and the line for words."""
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"))
            yield self.line("Program", ChoiceLine(self._programs, self._first, id="program", keys=self.keys))
            yield self.line("Place", ChoiceLine(self._places, self._place, id="place", keys=self.keys))
            yield self.line("Instructions", self.words)
            yield Static(id="base")
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show what stands in the words at first."""
        super().on_mount()
        self.on_text_area_changed()

    def take_key(self, event: events.Key) -> bool:
        """Note whether a letter comes too early for the form to be read; it is handled elsewhere."""
        is_early = self._is_first_key and not Reading(self.context).is_long_since(self._opened_at)
        self._is_typed_on = self._is_typed_on or (is_early and event.is_printable)
        self._is_first_key = False
        return False

    def on_text_area_changed(self) -> None:
        """Show the branch that the words choose: words that were pasted may name one."""
        base, shown = self._answer.base, self.query_one("#base", Static)
        shown.display = bool(base)
        shown.update(
            plain(f"   {'Branch':<{self.LABEL_CELLS}} {safe_line(base, 60)}, as the instructions say base:", "$changed")
        )

    @property
    def _answer(self) -> StartAnswer:
        program, place = (self.query_one(f"#{name}", ChoiceLine).value for name in ("program", "place"))
        return StartAnswer(program, place, self.words.value)

    @override
    def submit(self) -> None:
        """End with what was chosen, of what was typed on after a second Enter; a program must be installed."""
        program = self._answer.program
        if self._installed[program] and self._is_typed_on:
            self._is_typed_on = False
            self.context.say(f"You typed on while this form opened. Enter again starts {safe_line(program, 30)}.")
        elif self._installed[program]:
            self.end(self._answer, "work_start")
        else:
            self._say_not_installed(program)

    def _say_not_installed(self, program: str) -> None:
        others = " ←→ in Program chooses another." if any(self._installed.values()) else ""
        self.context.say(f"{safe_line(program, 30)} is not installed here, so it cannot start.{others}")


# In cells: what stands beside the lines of a form at the foot.
_MARGINS: Final = 2
_METHODS: Final[dict[Method, str]] = {
    "squash": "one new commit on {base}",
    "merge": "a merge commit on {base}",
    "rebase": "its commits, rebased onto {base}",
    "ff": "{base} moves forward to it",
}
_ENDS, _GOES_ON = (
    Option("ends", "its worktree and branch are removed"),
    Option("on", "the agent continues in its worktree"),
)


@dataclass(frozen=True, slots=True)
class AcceptAnswer:
    """What the human has chosen. `goes_on`: the agent keeps worktree and branch."""

    method: Method
    message: str
    goes_on: bool


# How many of the files that were not opened are named.
_NAMED: Final = 2


class AcceptForm(_FootForm[AcceptAnswer]):
    """The form, at the foot. Result: the choice, or None.

    It begins on a value, so that a key that is meant for the review writes nothing into the message.
    """

    AUTO_FOCUS = "#after"
    DRAFT = "The message is your draft from before: e edits it."

    def __init__(
        self, context: Context, facts: WorkFacts, unopened: Sequence[str], changed: Sequence[str], *, has_ended: bool
    ) -> None:
        """`unopened`: the paths of the files that the human has not opened; `changed`: that have changed since then.
        `has_ended`: the agent has.
        """
        message = commit_message(facts.task, facts.work).partition("\n")[0]
        hint = "message of the commit"
        assert facts.review is not None
        self._facts = facts
        self._review = facts.review
        self._is_merge = facts.is_merge
        done = "Merge" if self._is_merge else "Accept"
        super().__init__(context, draft=f"accept {facts.work.uid}", words=message, hint=hint, done=done)
        self._unopened = unopened
        self._changed = changed
        self._has_ended = has_ended
        self._has_asked = False
        self._settings = starting.settings()
        self.keys["e"] = self._edit_message

    def compose(self) -> ComposeResult:
        """Compose the choices, what will happen, and the line for the message."""
        task, base = self._facts.task, safe_line(self._review.base, 40)
        methods = [Option(name, note=how.format(base=base)) for name, how in _METHODS.items()]
        # On a small screen the title stays in sight only if neither it nor a fact takes two lines.
        cells = self.app.size.width - _MARGINS if is_compact(self.app.size) else None
        named = f"Accept the work on #{task.number}"
        title = f"Merge #{task.number} into {base}" if cells else f"{named}: merge it into {base}"
        if not self._is_merge:
            title = f"Accept #{task.number}, on {base} already" if cells else f"{named}: it is on {base} already"
            if not self._facts.is_on_base:
                title = f"Accept #{task.number}, nothing new" if cells else f"{named}: it has nothing new for {base}"
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(safe_line(title, cells), "bold"))
            if self._is_merge:
                yield self.line("Method", ChoiceLine(methods, self._settings.merge, id="method", keys=self.keys))
            yield self.line("After", ChoiceLine(self._after(), _ENDS.value, id="after", keys=self.keys))
            for text, style in self._facts_lines():
                yield Static(plain(safe_line("   " + text, cells), style))
            yield self.line("Message", self.words)
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the message only where a commit has it."""
        super().on_mount()
        self.on_choice_line_changed()

    def on_choice_line_changed(self) -> None:
        """Show the message only where a commit has it."""
        line = self.words.parent
        assert isinstance(line, Widget)
        line.display = self._needs_message
        self.show_keys()
        if not self._needs_message and self.focused in (None, self.words):
            self.query_one("#after", ChoiceLine).focus()

    def _edit_message(self) -> None:
        """Go to the message, if there is one."""
        if self._needs_message:
            self.words.focus()
        else:
            self.context.say("No commit is made, so there is no message.")

    @override
    def first_keys(self) -> Sequence[Hint]:
        enter = "Enter twice" if self._doubts() and not self._has_asked else "Enter"
        edits = self._needs_message and self.focused is not self.words
        return ((enter, self._done, ""), *((("e", "Message", ""),) if edits else ()))

    @property
    def _method(self) -> Method:
        if not self._is_merge:
            return self._settings.merge
        method: Any = self.query_one("#method", ChoiceLine).value
        chosen: Method = method
        return chosen

    @property
    def _needs_message(self) -> bool:
        """Whether a new commit is made: of the merge, or of what is not committed."""
        return self._review.is_dirty or (self._is_merge and self._method not in ("rebase", "ff"))

    def _after(self) -> list[Option]:
        """Return what can become of the agent: it continues only while it has not ended, in a worktree of its own."""
        has_ended = f"{agent_text.who(self._facts.work.agent, 30)} has ended"
        if self._facts.work.is_on_base:
            return [
                Option(_ENDS.value, f"nothing is removed; {has_ended if self._has_ended else 'the agent is ended'}")
            ]
        return [_ENDS._replace(note=has_ended)] if self._has_ended else [_ENDS, _GOES_ON]

    def _facts_lines(self) -> Sequence[tuple[str, str]]:
        """Return what else happens, and what may stand in the way."""
        review = self._review
        lines: list[tuple[str, str]] = []
        named = (("not opened", self._unopened), ("changed since", self._changed))
        if unread := [f"{len(paths)} {word}: {_names(paths)}" for word, paths in named if paths]:
            first = unread[0].replace(" ", f" of {count(len(review.files), 'file')} ", 1)
            lines.append((f"Unread    {'; '.join((first, *unread[1:]))}", "$state-overdue"))
        for at, (text, style) in enumerate(self._check_texts()):
            lines.append((f"{'' if at else 'Checks':<10}{text}", style))
        if review.is_dirty:
            first, more = safe_ends(one_to_one(review.uncommitted[0]), 40), len(review.uncommitted) - 1
            files = f"{first} and {more:,} more are" if more else f"{first} is"
            lines.append((f"Commit    {files} committed with this message first", "$state-overdue"))
        if self._facts.places > 1:
            lines.append(
                (f"Race      discards {count(self._facts.places - 1, 'other work')} on this task", "$state-overdue")
            )
        return lines

    def _check_texts(self) -> Iterator[tuple[str, str]]:
        """Yield which checks run before the merge, and what is not proven of the reviewed files."""
        review, checks = self._review, self._facts.checks
        is_other = review.behind and self._settings.prove == "merged"
        gates = [check for check in checks if check.gate and (is_other or check.state != "passed")]
        if named := ", ".join(safe_line(check.name, 20) for check in checks if check.gate and check not in gates):
            yield f"{named} passed on this tree", ""
        if named := ", ".join(safe_line(check.name, 20) for check in gates if not self._facts.is_on_base):
            where = "this tree first"
            if review.behind and self._settings.prove == "merged":
                more = f"{safe_line(review.base, 24)} has {count(review.behind, 'commit')} more"
                where = f"the merged tree first: {more}"
            elif review.behind:
                where = "the branch alone first, as [work] prove says"
            yield f"{named} must pass on {where}", ""
        failed = [safe_line(check.name, 20) for check in checks if check.state == "failed"]
        others = [
            f"{safe_line(check.name, 20)} {PROOF_LOOKS[check.state].word}"
            for check in checks
            if check.state not in ("passed", "failed")
        ]
        if failed:
            yield f"failed on this tree: {', '.join(failed)}", "$state-failed"
        if others:
            yield f"on this tree: {', '.join(others)}", "$state-overdue"

    @override
    def submit(self) -> None:
        """End with what was chosen; a new commit needs a message, and files that were not opened, or a check that
        failed and does not gate, a second Enter.
        """
        message = self.words.value.strip()
        if not message and self._needs_message:
            self.words.focus()
            self.context.say("The commit needs a message.")
        elif (doubts := self._doubts()) and not self._has_asked:
            self._has_asked = True
            self.show_keys()
            again = f"{'merges' if self._is_merge else 'accepts'} {count(len(self._review.files), 'file')}"
            self.context.say(f"{' '.join(doubts)} Enter again {again}.")
        else:
            goes_on = self.query_one("#after", ChoiceLine).value == _GOES_ON.value
            self.end(AcceptAnswer(self._method, message, goes_on), "work_accept")

    def _doubts(self) -> list[str]:
        """Return what speaks against it and stops nothing, in sentences."""
        doubts = [f"You have not opened {_names(self._unopened)}."] if self._unopened else []
        if self._changed:
            doubts.append(f"Changed since you read it: {_names(self._changed)}.")
        failed = [
            check
            for check in self._facts.checks
            if check.state == "failed" and (not check.gate or self._facts.is_on_base)
        ]
        if failed:
            doubts.append(f"{', '.join(safe_line(check.name, 20) for check in failed)} failed on this tree.")
        return doubts


def _names(paths: Sequence[str]) -> str:
    """Return the first of the paths, and how many more there are."""
    more = len(paths) - _NAMED
    listed = ", ".join(safe_ends(path, 40) for path in paths[:_NAMED])
    return f"{listed} and {more:,} more" if more > 0 else listed
