"""The forms of a start and of an accept of work.

A start: which program, where, and extra words. An accept: what will be merged into what, how, and which checks stand in
between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.inputs.dialogs import AnswerLine
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.bases import Dialog, plain
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.work.review_text import WorkFacts
from tui_tasks.work import starting

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.work.git.merging import Method


_BASE: Final = "base:"


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """What the human has chosen.

    Attributes:
        program: the program.
        place: `new` (a new worktree), `here` (the checkout itself), `race` (a new worktree while another agent is at
            work on the task) or `beside` (in the worktree of the agent that is).
        base: the branch to begin on; empty: as set.
        words: extra words for the agent.
    """

    program: str
    place: str
    base: str
    words: str

    @property
    def typed(self) -> str:
        """The line of extra words and the branch."""
        return f"{_BASE}{self.base} {self.words}".rstrip() if self.base else self.words


def places(other: str | None) -> list[tuple[str, str]]:
    """Return the places to choose from, with their texts; `other` is the agent that is at work on the task."""
    if other is None:
        return [("new", "a new worktree"), ("here", "this checkout")]
    return [("race", f"a new worktree, in a race with {other}"), ("beside", f"the worktree of {other}")]


def parted(line: str) -> tuple[str, str]:
    """Return the branch that a line of extra words names with `base:`, and the other words."""
    words = line.split(" ")
    bases = [word.removeprefix(_BASE) for word in words if word.startswith(_BASE) and word != _BASE]
    rest = " ".join(word for word in words if not word.startswith(_BASE) or word == _BASE)
    return (bases[-1] if bases else ""), rest.strip()


class StartForm(Dialog[StartAnswer | None]):
    """The form, at the foot. Result: the choice, or None."""

    AUTO_FOCUS = "AnswerLine"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(
        self,
        context: Context,
        title: str,
        programs: Sequence[str],
        first: str,
        other: str | None = None,
        before: StartAnswer | None = None,
    ) -> None:
        """`other` is the agent that is at work on the task already; `before` is the choice that could not be done."""
        super().__init__(context)
        self._title = title
        self._programs = list(programs)
        self._program = self._programs.index(first) if first in self._programs else 0
        self._places = places(other)
        names = [name for name, _ in self._places]
        self._place = names.index(before.place) if before is not None and before.place in names else 0
        self._words = before.typed if before is not None else ""

    def compose(self) -> ComposeResult:
        """Compose the choices and the line for words."""
        keys = {
            "enter": self.submit,
            "escape": self.action_leave,
            "tab": self._next_program,
            "shift+tab": self._next_place,
        }
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"))
            yield Static("", id="start-program")
            yield Static("", id="start-place")
            with Horizontal(id="start-words"):
                yield Static(plain("   Words    ", "$muted"))
                yield AnswerLine(
                    self._words, id="answer", placeholder="more for the agent, base:BRANCH, or nothing", keys=keys
                )
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the choices and the keys."""
        self.query_one(FootLine).hint(
            ("Enter", "Start", ""), ("Tab", "Program", ""), ("Esc", "Back", ""), ("Shift+Tab", "Place", "")
        )
        self._show()

    def _show(self) -> None:
        program, place = self._programs[self._program], self._places[self._place][1]
        self.query_one("#start-program", Static).update(plain("   Program  ", "$muted") + plain(program, "bold"))
        self.query_one("#start-place", Static).update(plain("   Place    ", "$muted") + plain(place, "bold"))

    def _next_program(self) -> None:
        self._program = (self._program + 1) % len(self._programs)
        self._show()

    def _next_place(self) -> None:
        self._place = (self._place + 1) % len(self._places)
        self._show()

    def submit(self) -> None:
        """End with what was chosen."""
        base, words = parted(self.query_one(AnswerLine).value)
        self.dismiss(StartAnswer(self._programs[self._program], self._places[self._place][0], base, words))

    def action_leave(self) -> None:
        """Leave without a start."""
        self.dismiss(None)


_METHODS: Final[dict[Method, str]] = {
    "squash": "one new commit on {base}",
    "merge": "a merge commit on {base}",
    "rebase": "its commits, rebased onto {base}",
    "ff": "{base} moves forward to it",
}
_AFTER: Final = ("its worktree and branch are removed", "the agent continues in its worktree")


@dataclass(frozen=True, slots=True)
class AcceptAnswer:
    """What the human has chosen. `goes_on`: the agent keeps worktree and branch."""

    method: Method
    message: str
    goes_on: bool


class AcceptForm(Dialog[AcceptAnswer | None]):
    """The form, at the foot. Result: the choice, or None."""

    AUTO_FOCUS = "AnswerLine"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, context: Context, facts: WorkFacts, unopened: int) -> None:
        """`unopened`: how many of the files the human has not opened."""
        super().__init__(context)
        self._unopened = unopened
        assert facts.review is not None
        self._facts = facts
        self._review = facts.review
        self._settings = starting.settings()
        self._methods: list[Method] = list(_METHODS)
        self._method = self._methods.index(self._settings.merge)
        self._goes_on = False

    def compose(self) -> ComposeResult:
        """Compose the choices, what will happen, and the line for the message."""
        task, base = self._facts.task, safe_line(self._review.base, 40)
        keys = {
            "enter": self.submit,
            "escape": self.action_leave,
            "tab": self._next_method,
            "shift+tab": self._next_after,
        }
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(f"Accept #{task.number} into {base}", "bold"))
            yield Static("", id="accept-method")
            yield Static("", id="accept-after")
            for text, style in self._facts_lines():
                yield Static(plain("   " + text, style))
            yield AnswerLine(
                f"{safe_line(task.name, 200)} (#{task.number})",
                id="answer",
                placeholder="message of the commit",
                keys=keys,
            )
            yield FootLine(self.context, id="foot")

    def _facts_lines(self) -> Sequence[tuple[str, str]]:
        """Return what else happens, and what may stand in the way."""
        review, checks = self._review, self._facts.checks
        lines: list[tuple[str, str]] = []
        if self._unopened:
            of = f"{self._unopened} of {count(len(review.files), 'file')}"
            lines.append((f"Unread    {of} not opened: merged unseen, as at {review.head[:10]}", "$state-overdue"))
        gates = [check for check in checks if check.gate]
        if gates and review.behind and self._settings.prove == "merged":
            named = ", ".join(safe_line(check.name, 20) for check in gates)
            has = f"{safe_line(review.base, 24)} has {count(review.behind, 'commit')} more"
            lines.append((f"Checks    {named} run on the merged tree first: {has}", ""))
        elif gates:
            where = "this tree" if not review.behind else "the branch alone, as [work] prove says"
            lines.append((f"Checks    those that gate must have passed on {where}", ""))
        failed = [safe_line(check.name, 20) for check in checks if check.state == "failed"]
        unproven = [safe_line(check.name, 20) for check in checks if check.state in ("unproven", "stale", "running")]
        if failed:
            lines.append((f"          failed on this tree: {', '.join(failed)}", "$state-failed"))
        if unproven:
            lines.append((f"          not proven on this tree: {', '.join(unproven)}", "$state-overdue"))
        if review.is_dirty:
            files = count(len(review.uncommitted), "file")
            lines.append((f"Commit    {files} not committed: committed with this message first", "$state-overdue"))
        if self._facts.places > 1:
            lines.append(
                (f"Race      discards {count(self._facts.places - 1, 'other work')} on this task", "$state-overdue")
            )
        return lines

    def on_mount(self) -> None:
        """Show the choices and the keys."""
        self.query_one(FootLine).hint(
            ("Enter", "Merge", ""), ("Tab", "Method", ""), ("Esc", "Back", ""), ("Shift+Tab", "After", "")
        )
        self._show()

    def _show(self) -> None:
        method = self._methods[self._method]
        how = _METHODS[method].format(base=safe_line(self._review.base, 40))
        for name, word, more in (
            ("Method", method, how),
            ("After", _AFTER[self._goes_on], ""),
        ):
            parts = plain(f"   {name:<10}", "$muted") + plain(word, "bold") + plain(f"  {more}", "$muted")
            self.query_one(f"#accept-{name.lower()}", Static).update(parts)

    def _next_method(self) -> None:
        self._method = (self._method + 1) % len(self._methods)
        self._show()

    def _next_after(self) -> None:
        self._goes_on = not self._goes_on
        self._show()

    def submit(self) -> None:
        """End with what was chosen; a new commit needs a message."""
        message = self.query_one(AnswerLine).value.strip()
        method = self._methods[self._method]
        if message or (method in ("rebase", "ff") and not self._review.is_dirty):
            self.dismiss(AcceptAnswer(method, message, self._goes_on))

    def action_leave(self) -> None:
        """Leave without merging."""
        self.dismiss(None)
