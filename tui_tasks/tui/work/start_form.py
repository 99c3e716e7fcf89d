"""The form of a start: which program, where, and extra words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tui_tasks.tui.inputs.text_line import AnswerLine
from tui_tasks.tui.painting.frame_line import rule
from tui_tasks.tui.widgets.bases import Dialog, plain
from tui_tasks.tui.widgets.frame import FootLine

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

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
        self, context: Context, title: str, programs: Sequence[str], first: str, other: str | None = None
    ) -> None:
        """`other` is the agent that is at work on the task already."""
        super().__init__(context)
        self._title = title
        self._programs = list(programs)
        self._program = self._programs.index(first) if first in self._programs else 0
        self._places = places(other)
        self._place = 0

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
            yield AnswerLine("", id="answer", placeholder="extra words, base:BRANCH, or nothing", keys=keys)
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the choices and the keys."""
        self.query_one(FootLine).hint(
            ("Enter", "Start", ""), ("Tab", "Program", ""), ("Shift+Tab", "Place", ""), ("Esc", "Back", "")
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
