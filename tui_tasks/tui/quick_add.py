"""Quick add: one line with a preview of what was understood of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from tui_tasks.core.pages import TaskLine
from tui_tasks.tui.actions import Hosted
from tui_tasks.tui.drafts import Draft, parse, priority_word
from tui_tasks.tui.format import plain, safe_line
from tui_tasks.tui.ink import Part
from tui_tasks.tui.now_line import Line

if TYPE_CHECKING:
    from textual.widgets import Input

    from tui_tasks.tui.word_line import AddWords

HINTS = (("Enter", "Add", ""), ("^o", "More fields", ""), ("^e", "Describe in $EDITOR", ""), ("Esc", "Back", ""))


@dataclass(frozen=True, slots=True)
class Wish:
    """A task to be added: what was typed, the uids of the tasks it comes after, and where it goes."""

    draft: Draft
    depends_on: tuple[str, ...]
    beside: str | None
    above: bool


class AddPreview(Line):
    """What was understood."""

    parts: Sequence[Part] = ()

    def left(self, width: int) -> Sequence[Part]:
        """What was understood."""
        return [("   ", ""), *self.parts]


class QuickAdd(Hosted, Vertical):
    """Opened by `n` and `N`. Posts `Add`, and `Closed` when it is gone."""

    class Add(Message):
        """Add this; `describe` with a text from $EDITOR, `more` by the form with all fields."""

        def __init__(self, wish: Wish, *, describe: bool = False, more: bool = False) -> None:
            super().__init__()
            self.wish = wish
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
        self._beside: str | None = None
        self._above = False
        self._words: AddWords | None = None

    @property
    def is_open(self) -> bool:
        """Whether something is being typed."""
        return self.has_class("-open")

    def open(self, beside: str | None, *, above: bool) -> None:
        """Begin a task below or above another, or at the end of the list. The first time it takes a moment."""
        if self._words is not None:
            self._begin(beside, above)
        else:
            self.host.opening(self._make(beside, above))

    async def _make(self, beside: str | None, above: bool) -> None:
        from tui_tasks.tui.word_line import AddWords

        if self._words is None:
            keys = {"escape": self.close, "enter": self.add, "ctrl+o": self.more, "ctrl+e": self.describe}
            words = AddWords(keys=keys)
            await self.mount(Horizontal(Static(plain(" +", "$changed bold")), words), AddPreview())
            self._words = words
        self._begin(beside, above)

    def _begin(self, beside: str | None, above: bool) -> None:
        assert self._words is not None
        self._beside, self._above = beside, above
        self._meant.clear()
        self.add_class("-open")
        self._words.value = ""
        self._words.focus()
        self._preview()

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

    def _add(self, *, describe: bool = False, more: bool = False) -> None:
        draft = parse(self._words.value if self._words is not None else "")
        wrong = self._wrong(draft)
        if wrong and not more:
            self.host.say(wrong)
            return
        depends_on = tuple(task.uid for number in draft.after if (task := self._mean(number)))
        self.post_message(self.Add(Wish(draft, depends_on, self._beside, self._above), describe=describe, more=more))
        self.close()

    def _wrong(self, draft: Draft) -> str:
        missing = [number for number in draft.after if self._mean(number) is None]
        if missing:
            return f"there is no #{missing[0]} in this list"
        return draft.problem or ("" if draft.name else "a task needs a title")

    def _preview(self) -> None:
        draft = parse(self._words.value if self._words is not None else "")
        parts: list[Part] = []
        for number in draft.after:
            task = self._mean(number)
            name = safe_line(task.name, 24) if task is not None else "is not there"
            parts.append((f"after #{number} {name}", "" if task is not None else "$state-failed"))
        parts += [(safe_line(draft.agent, 24), "$state-in-progress")] if draft.agent else []
        parts += [(safe_line(tag, 24), "") for tag in draft.tags]
        parts += [(priority_word(draft.priority), "$state-overdue")] if draft.priority is not None else []
        parts += [(safe_line(draft.problem, 60), "$state-failed")] if draft.problem else []
        preview = self.query_one(AddPreview)
        joined = [piece for part in parts for piece in ((" · ", "$muted"), part)]
        preview.parts = joined[1:] or [("#tag  !priority  @agent  after #N", "$muted")]
        preview.again()
