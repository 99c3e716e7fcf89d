"""The forms of a start and of an accept of work.

A start: which program, where, and extra words. An accept: what will be merged into what, how, and which checks stand in
between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.choice_line import ChoiceLine, Option
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


R = TypeVar("R")


class _FootForm(Dialog[R], Generic[R]):
    """A form of lines at the foot: the last takes words, the others have a few values. Tab goes to the next line."""

    AUTO_FOCUS = "AnswerLine"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]
    LABEL_CELLS = 10

    @property
    def keys(self) -> dict[str, Callable[[], object]]:
        """The keys of every line."""
        onwards, back = self.focus_next, self.focus_previous
        moves = {"tab": onwards, "down": onwards, "shift+tab": back, "up": back}
        return {"enter": self.submit, "escape": self.action_leave, **moves}

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

    def submit(self) -> None:
        """End with what was chosen."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Leave without a result."""
        self.dismiss(None)


class StartForm(_FootForm[StartAnswer | None]):
    """The form, at the foot. Result: the choice, or None."""

    def __init__(
        self,
        context: Context,
        title: str,
        programs: Mapping[str, bool],
        first: str,
        other: str | None = None,
        before: StartAnswer | None = None,
    ) -> None:
        """`programs`: whether each is installed; `other` is the agent that is at work on the task already; `before` is
        the choice that could not be done.
        """
        super().__init__(context)
        self._title = title
        self._programs = [Option(name, note="" if programs[name] else "not installed") for name in programs]
        self._first = first
        self._places = [Option(*place) for place in places(other)]
        self._place = before.place if before is not None else ""
        self._words = before.typed if before is not None else ""

    def compose(self) -> ComposeResult:
        """Compose the choices and the line for words."""
        words = "more for the agent, base:BRANCH, or nothing"
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(self._title, "bold"))
            yield self.line("Program", ChoiceLine(self._programs, self._first, id="program", keys=self.keys))
            yield self.line("Place", ChoiceLine(self._places, self._place, id="place", keys=self.keys))
            yield self.line("Words", AnswerLine(self._words, id="answer", placeholder=words, keys=self.keys))
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the keys."""
        hints = ("Enter", "Start", ""), ("Tab", "Next field", ""), ("←→", "Change", ""), ("Esc", "Back", "")
        self.query_one(FootLine).hint(*hints)

    @override
    def submit(self) -> None:
        base, words = parted(self.query_one(AnswerLine).value)
        program, place = (self.query_one(f"#{name}", ChoiceLine).value for name in ("program", "place"))
        self.dismiss(StartAnswer(program, place, base, words))


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


class AcceptForm(_FootForm[AcceptAnswer | None]):
    """The form, at the foot. Result: the choice, or None."""

    def __init__(self, context: Context, facts: WorkFacts, unopened: int, *, has_ended: bool) -> None:
        """`unopened`: how many of the files the human has not opened. `has_ended`: the agent has."""
        super().__init__(context)
        self._unopened = unopened
        self._has_ended = has_ended
        self._has_asked = False
        assert facts.review is not None
        self._facts = facts
        self._review = facts.review
        self._settings = starting.settings()

    def compose(self) -> ComposeResult:
        """Compose the choices, what will happen, and the line for the message."""
        task, base = self._facts.task, safe_line(self._review.base, 40)
        methods = [Option(name, note=how.format(base=base)) for name, how in _METHODS.items()]
        message = f"{safe_line(task.name, 200)} (#{task.number})"
        with Vertical(classes="foot"):
            yield rule(self.context)
            yield Static(plain(f"Accept #{task.number} into {base}", "bold"))
            yield self.line("Method", ChoiceLine(methods, self._settings.merge, id="method", keys=self.keys))
            yield self.line("After", ChoiceLine(self._after(), _ENDS.value, id="after", keys=self.keys))
            for text, style in self._facts_lines():
                yield Static(plain("   " + text, style))
            yield self.line(
                "Message", AnswerLine(message, id="answer", placeholder="message of the commit", keys=self.keys)
            )
            yield FootLine(self.context, id="foot")

    def _after(self) -> list[Option]:
        """Return what can become of the agent: it continues only while it has not ended, in a worktree of its own."""
        work = self._facts.work
        if self._has_ended:
            return [_ENDS._replace(note=f"{agent_text.who(work.agent, 30)} has ended")]
        if work.is_on_base:
            return [Option(_ENDS.value, "the agent is ended")]
        return [_ENDS, _GOES_ON]

    def _facts_lines(self) -> Sequence[tuple[str, str]]:
        """Return what else happens, and what may stand in the way."""
        review, checks = self._review, self._facts.checks
        lines: list[tuple[str, str]] = []
        if self._unopened:
            of = f"{self._unopened} of {count(len(review.files), 'file')}"
            lines.append((f"Unread    {of} not opened", "$state-overdue"))
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
        """Show the keys."""
        hints = ("Enter", "Merge", ""), ("Tab", "Next field", ""), ("←→", "Change", ""), ("Esc", "Back", "")
        self.query_one(FootLine).hint(*hints)

    @override
    def submit(self) -> None:
        """End with what was chosen; a new commit needs a message, and files that were not opened a second Enter."""
        message = self.query_one(AnswerLine).value.strip()
        method: Any = self.query_one("#method", ChoiceLine).value
        if not message and (method not in ("rebase", "ff") or self._review.is_dirty):
            self.context.say("The commit needs a message.")
        elif self._unopened and not self._has_asked:
            self._has_asked = True
            self.context.say(f"Enter again merges {count(self._unopened, 'file')} that you have not opened.")
        else:
            self.dismiss(AcceptAnswer(method, message, self.query_one("#after", ChoiceLine).value == _GOES_ON.value))
