"""Quick add: one line with a preview of what was understood of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from tui_tasks.core import vocab
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.schema.task_fields import FIELDS, local_time
from tui_tasks.dialects.quick_add_syntax import SIGNS_HELP, Draft, items_of, parse
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.app.actions import AppAccess
from tui_tasks.tui.widgets.content import plain
from tui_tasks.tui.widgets.frame import FrameLine
from tui_tasks.tui.widgets.styles import Part

if TYPE_CHECKING:
    from textual.widgets import Input

    from tui_tasks.tui.inputs.text_line import AddWords

HINTS = (("Enter", "Add", ""), ("^o", "More fields", ""), ("^e", "Describe in $EDITOR", ""), ("Esc", "Back", ""))


# So many lines are made a task each at once.
MOST_LINES: Final = 10_000


@dataclass(slots=True)
class Place:
    """Where the next task goes: below or above another, None: at the end of the list. What was added moves it on."""

    beside: str | None = None
    above: bool = False


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be added: what was typed, and the uids of the tasks it comes after."""

    draft: Draft
    depends_on: tuple[str, ...] = ()
    description: str = ""


class AddPreview(FrameLine):
    """What was understood."""

    parts: Sequence[Part] = ()

    def left(self, width: int) -> Sequence[Part]:
        """What was understood."""
        return [("   ", ""), *self.parts]


class QuickAdd(AppAccess, Vertical):
    """Opened by `n` and `N`, for one task after another until Esc. Posts `Add`, and `Closed` when it is gone."""

    class Add(Message):
        """Add these at a place; `describe` with a text from $EDITOR, `more` by the form with all fields.

        `text` is what was typed, for the line to have it again where nothing could be added.
        """

        def __init__(
            self, wishes: Sequence[NewTask], place: Place, text: str, *, describe: bool = False, more: bool = False
        ) -> None:
            super().__init__()
            self.wishes = wishes
            self.place = place
            self.text = text
            self.describe = describe
            self.more = more

    class Closed(Message):
        """The line is gone."""

    DEFAULT_CSS = """
    QuickAdd { height: 2; display: none; }
    QuickAdd.-open { display: block; }
    QuickAdd Horizontal { height: 1; }
    QuickAdd Static { width: 3; }
    QuickAdd AddWords { width: 1fr; }
    """

    def __init__(self, find: Callable[[int], TaskLine | None], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._find = find
        # A number means the task that had it when it was typed, whatever comes in since.
        self._meant: dict[int, TaskLine | None] = {}
        self._place = Place()
        self._description = ""
        self._words: AddWords | None = None

    @property
    def is_open(self) -> bool:
        """Whether something is being typed."""
        return self.has_class("-open")

    def open(self, beside: str | None, *, above: bool) -> None:
        """Begin a task below or above another, or at the end of the list. The first time it takes a moment."""
        if self._words is not None:
            self._begin(Place(beside, above))
        else:
            self.host.opening(self._make(Place(beside, above)))

    async def _make(self, place: Place) -> None:
        from tui_tasks.tui.inputs.text_line import AddWords

        if self._words is None:
            keys = {"escape": self.close, "enter": self.add, "ctrl+o": self.more, "ctrl+e": self.describe}
            words = AddWords(keys=keys, pasted=self._take_lines)
            await self.mount(Horizontal(Static(plain(" +", "$changed bold")), words), AddPreview())
            self._words = words
        self._begin(place)

    def _begin(self, place: Place) -> None:
        assert self._words is not None
        self._place = place
        self.add_class("-open")
        self._write("")
        self._words.focus()

    def _write(self, text: str, description: str = "") -> None:
        """Have this in the line."""
        assert self._words is not None
        self._meant.clear()
        self._description = description
        self._words.value = text
        self._words.action_end()
        self._preview()

    def give_back(self, event: Add) -> None:
        """Have in the line again what could not be added, unless something else is being typed."""
        if self.is_open and self._words is not None and not self._words.value:
            self._write(event.text, event.wishes[0].description if len(event.wishes) == 1 else "")

    def close(self) -> None:
        """Forget it."""
        self.remove_class("-open")
        self.post_message(self.Closed())

    def add(self) -> None:
        """Add it."""
        self._add()

    def more(self) -> None:
        """Go on in the form with all fields."""
        self._add(more=True)

    def describe(self) -> None:
        """Write the description in $EDITOR, then add."""
        self._add(describe=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what is understood."""
        event.stop()
        self._preview()

    def on_descendant_focus(self) -> None:
        """The footer tells of the keys here."""
        self.host.hint(*HINTS)

    def on_descendant_blur(self) -> None:
        """The footer tells of the pane's keys again."""
        self.host.hint()

    def _mean(self, number: int) -> TaskLine | None:
        if number not in self._meant:
            self._meant[number] = self._find(number)
        return self._meant[number]

    def _parsed(self, text: str) -> Draft:
        return parse(text, local_time(self.host.now(), self.host.zone))

    def _add(self, *, describe: bool = False, more: bool = False) -> None:
        assert self._words is not None
        text = self._words.value
        draft = self._parsed(text)
        wrong = self._wrong(draft)
        if wrong and not more:
            self.host.say(wrong)
            return
        wish = NewTask(draft, self._depends_on(draft), self._description)
        self.post_message(self.Add([wish], self._place, text, describe=describe, more=more))
        if describe or more:
            self.close()
        else:
            self._write("")

    def _depends_on(self, draft: Draft) -> tuple[str, ...]:
        return tuple(task.uid for number in draft.after if (task := self._mean(number)))

    # Several lines

    def _take_lines(self, text: str) -> None:
        self.host.flow(self._ask_of_lines(text))

    async def _ask_of_lines(self, text: str) -> None:
        """Ask what several lines that were pasted are, and do it; nothing at all where the human goes back."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        assert self._words is not None
        typed, at = self._words.value, self._words.cursor_position
        items = items_of(typed[:at] + text + typed[at:])
        too_many = f"at most {MOST_LINES:,} at once" if len(items) > MOST_LINES else ""
        whole = "the description of this task" if typed.strip() else "one task: first its title, then its description"
        choices = [Choice("t", f"a task a line: {count(len(items), 'task')}", "", too_many), Choice("d", whole)]
        title = f"{count(len(text.splitlines()), 'line')} were pasted"
        key = await self.host.push_screen_wait(Menu(self.context, title, choices))
        if key == "t":
            self.post_message(self.Add([self._wish_of(item) for item in items], self._place, typed))
            self._write("")
        elif key == "d":
            name, _, rest = text.strip().partition("\n") if not typed.strip() else (typed, "", text.strip("\n"))
            self._write(name.strip(), rest.strip("\n"))

    def _wish_of(self, item: str) -> NewTask:
        """What a line asks for; one that is not understood is a title as it stands."""
        draft = self._parsed(item)
        return NewTask(Draft(item)) if self._wrong(draft) else NewTask(draft, self._depends_on(draft))

    def _wrong(self, draft: Draft) -> str:
        missing = [number for number in draft.after if self._mean(number) is None]
        if missing:
            return f"there is no #{missing[0]} in this list"
        return draft.problem or ("" if draft.name else "a task needs a title")

    def _preview(self) -> None:
        draft = self._parsed(self._words.value if self._words is not None else "")
        parts: list[Part] = []
        for number in draft.after:
            task = self._mean(number)
            name = safe_line(task.name, 24) if task is not None else "is not there"
            parts.append((f"after #{number} {name}", "" if task is not None else "$state-failed"))
        parts += [(safe_line(draft.agent, 24), "$state-in-progress")] if draft.agent else []
        parts += [(safe_line(tag, 24), "") for tag in draft.tags]
        parts += [(vocab.priority_word(draft.priority), "$state-overdue")] if draft.priority is not None else []
        now = local_time(self.host.now(), self.host.zone)
        for name, value in draft.fields.items():
            parts.append((f"no {name}" if value is None else FIELDS[name].long(value, now), ""))
        if self._description:
            parts.append((f"description: {count(len(self._description.splitlines()), 'line')}", ""))
        parts += [(safe_line(draft.problem, 60), "$state-failed")] if draft.problem else []
        preview = self.query_one(AddPreview)
        joined = [piece for part in parts for piece in ((" · ", "$muted"), part)]
        preview.parts = joined[1:] or [(SIGNS_HELP, "$muted")]
        preview.again()
