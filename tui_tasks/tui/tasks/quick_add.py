"""Quick add: one line for a task, with a preview of how it is understood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from textual.containers import Vertical
from textual.message import Message

from tui_tasks.core import vocab
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.schema.task_fields import FIELDS, local_time
from tui_tasks.text.safe import cell_len, is_blank, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.widgets.screen_bases import plain
from tui_tasks.tui.widgets.textual_overrides import NoRelayout, ResilientMessages

if TYPE_CHECKING:
    from textual.widgets import Input

    from tui_tasks.dialects.requests.quick_add_syntax import Draft
    from tui_tasks.tui.inputs.line_inputs import AddWords
    from tui_tasks.tui.state.context import Context


HINTS = (
    ("Enter", "Add", ""),
    ("^n", "Add another", ""),
    ("Esc", "Back", ""),
    ("Tab", "Complete", ""),
    ("^o", "More fields", ""),
    ("^e", "Describe in $EDITOR", ""),
)


SELECTED_DRAFT: Final = "This is your draft from before: type over it, or go on at its end by →."
"""What the foot says where the line has a kept text."""
# The most pasted lines that become tasks.
MAX_LINES: Final = 10_000


class AddPlace(msgspec.Struct):
    """The place of the next task: below or above the task `beside`; None: the end of the list."""

    beside: str | None = None
    above: bool = False


class NewTask(msgspec.Struct, frozen=True):
    """A task to be added: the parsed line, and the uids of the tasks that it waits for."""

    draft: Draft
    depends_on: tuple[str, ...] = ()
    description: str = ""


class QuickAdd(ResilientMessages, Vertical, NoRelayout):
    """The input for a task. Enter adds it and closes the line; ^n adds it and leaves the line open for another."""

    class Add(Message):
        """Tasks are to be added at a place.

        `describe`: with a description from $EDITOR; `more`: after the form with all fields. `text` is what was typed;
        the line gets it back if nothing could be added.
        """

        def __init__(
            self, tasks: Sequence[NewTask], place: AddPlace, text: str, *, describe: bool = False, more: bool = False
        ) -> None:
            super().__init__()
            self.tasks = tasks
            self.place = place
            self.text = text
            self.describe = describe
            self.more = more

    class Closed(Message):
        """The line was closed."""

    DEFAULT_CSS = """
    QuickAdd { height: 2; display: none; }
    QuickAdd.-open { display: block; }
    QuickAdd InputRow { height: 1; }
    QuickAdd InputSign { width: 3; }
    QuickAdd AddWords { width: 1fr; }
    """

    def __init__(
        self, context: Context, known: Callable[[], Mapping[str, Sequence[str]]], *, id: str | None = None
    ) -> None:
        """`known` returns the values that Tab completes to, by field."""
        super().__init__(id=id)
        self.context = context
        self._known = known
        self._place = AddPlace()
        self._description = ""
        # What Esc has kept for the next time, by list: the line, the description, and beside which task it would go.
        self._kept: dict[str, tuple[str, str, str | None]] = {}
        # The list in which the open line was begun.
        self._list = ""
        # The kept line that was shown again, as long as it is unchanged.
        self._brought_back = ""
        self._parts: Sequence[Part] = ()
        # How the typed line is understood.
        self._preview_line = FrameLine(context, self._preview_parts)
        # Made when the line is first opened, as `Input` takes long to import.
        self._words: AddWords | None = None

    @property
    def is_open(self) -> bool:
        """Whether a task is being typed."""
        return self.has_class("-open")

    def open(self, beside: str | None, *, above: bool) -> None:
        """Start a task below or above another, None: at the end of the list. The first call makes the input."""
        if self._words is not None:
            self._begin(AddPlace(beside, above))
        else:
            self.context.open_in_turn(self._make(AddPlace(beside, above)))

    async def _make(self, place: AddPlace) -> None:
        from tui_tasks.tui.inputs.line_inputs import AddWords, InputRow, InputSign

        if self._words is None:
            # Enter that is typed while the program starts comes as ^j.
            keys = {"escape": self.leave, "enter": self.add, "ctrl+j": self.add, "tab": self.complete}
            keys |= {"ctrl+n": self.add_and_go_on, "ctrl+o": self.more, "ctrl+e": self.describe}
            words = AddWords(keys=keys, pasted=self._paste_lines, emptied=self._forget_description)
            await self.mount(InputRow(InputSign(plain(" +", "$key bold")), words), self._preview_line)
            self._words = words
        self._begin(place)

    def _begin(self, place: AddPlace) -> None:
        assert self._words is not None
        self._place = place
        self._words.placeholder = self._named_place()
        if not self.is_open:
            self.add_class("-open")
            shown = self.context.state.current_list
            self._list = shown.uid if shown is not None else ""
            self._bring_back()
        self._words.focus()

    def _bring_back(self) -> None:
        """Show what Esc has kept in this list, selected: typed text takes its place."""
        assert self._words is not None
        text, description, beside = self._kept.pop(self._list, ("", "", None))
        self._brought_back = text
        self._write(text, description)
        if text or description:
            self._words.select_all()
            goes = f" It goes {self._named_place()} now." if beside != self._place.beside else ""
            self.context.say(f"{SELECTED_DRAFT}{goes}")

    def _forget_description(self) -> None:
        """Drop the description of a kept line that is cleared or replaced as a whole."""
        if self._brought_back:
            self._description = ""

    def _named_place(self) -> str:
        """Return where the task goes; the line is above the rows, wherever that is."""
        beside = list_pages.line(self.context.db, self._place.beside) if self._place.beside is not None else None
        if beside is None:
            return "at the end of the list"
        return f"{'above' if self._place.above else 'below'} #{beside.number} {safe_line(beside.name, 40)}"

    def _write(self, text: str, description: str = "") -> None:
        """Set the text of the line."""
        assert self._words is not None
        self._description = description
        self._words.value = text
        self._words.action_end()
        self._preview()

    def give_back(self, event: Add) -> None:
        """Put text that could not be added back in the line, unless other text is being typed or a screen is open."""
        if self._words is None or (self.is_open and self._words.value) or not self.screen.is_active:
            return
        if not self.is_open:
            self._begin(event.place)
        self._write(event.text, event.tasks[0].description if len(event.tasks) == 1 else "")

    def complete(self) -> None:
        """Complete the word before the cursor as far as it is unambiguous; show the candidates if there are several."""
        from tui_tasks.dialects.requests.filter_syntax import YOU, complete, quick_add_candidates

        assert self._words is not None
        at = self._words.cursor_position
        typed, behind = self._words.value[:at], self._words.value[at:]
        known = self._known()
        agents = [name for name in known.get("who", ()) if name not in YOU]
        candidates = quick_add_candidates(typed, {**known, "who": agents})
        whole = complete(typed, candidates)
        self._words.value = whole + behind
        self._words.cursor_position = len(whole)
        if len(candidates) > 1:
            self.context.say("  ".join(candidates[:20]))

    def leave(self) -> None:
        """Close the line, and keep its text for the next time."""
        assert self._words is not None
        if self._words.value.strip() or self._description:
            self._kept[self._list] = self._words.value, self._description, self._place.beside
            new = self.context.keymap.key_of("new")
            self.context.say(f"Kept what you typed: {new} in this list brings it back.")
        self.close()

    def close(self) -> None:
        """Close the line."""
        self.remove_class("-open")
        self.post_message(self.Closed())

    def add(self) -> None:
        """Add the task, and close the line; close it where nothing is typed."""
        assert self._words is not None
        if not self._words.value and not self._description:
            self.close()
        elif self._add():
            self.close()
            self.context.words.expect_more("new", "Quick add is closed: n opens it again", self._go_on)

    def _go_on(self, text: str) -> None:
        """Open the line again for the next task, with the beginning of what is typed on."""
        self._begin(self._place)
        self._write(text)

    def add_and_go_on(self) -> None:
        """Add the task, and leave the line open for another."""
        if self._add() and self._words is not None:
            self._words.placeholder = "below the one just added"

    def more(self) -> None:
        """Continue in the form with all fields."""
        if self._add(more=True):
            self.close()

    def describe(self) -> None:
        """Write the description in $EDITOR, then add."""
        if self._add(describe=True):
            self.close()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show how the line is understood."""
        event.stop()
        if event.value != self._brought_back:
            self._brought_back = ""
        self._preview()

    def on_descendant_focus(self) -> None:
        """Show the keys of this line in the footer."""
        self.context.hint(*HINTS)

    def on_descendant_blur(self) -> None:
        """Show the pane's keys in the footer again."""
        self.context.hint()

    def _task_of(self, number: int) -> TaskLine | None:
        return list_pages.line_of_number(self.context.db, number)

    def _parsed(self, text: str) -> Draft:
        from tui_tasks.dialects.requests.quick_add_syntax import parse  # at the first paint nothing is typed

        return parse(text, local_time(self.context.clock.now(), self.context.clock.zone))

    def _add(self, *, describe: bool = False, more: bool = False) -> bool:
        """Pass the task on to be added, and empty the line; say why, and return False, where it cannot be."""
        assert self._words is not None
        text = self._words.value
        draft = self._parsed(text)
        wrong = self._wrong(draft)
        if wrong and not more:
            self.context.say(wrong)
            return False
        task = NewTask(draft, self._depends_on(draft), self._description)
        self.post_message(self.Add([task], self._place, text, describe=describe, more=more))
        self._write("")
        return True

    def _depends_on(self, draft: Draft) -> tuple[str, ...]:
        return tuple(task.uid for number in draft.after if (task := self._task_of(number)))

    # Several lines

    def _paste_lines(self, text: str) -> None:
        self.context.run(self._ask_of_lines(text))

    async def _ask_of_lines(self, text: str) -> None:
        """Ask whether pasted lines are tasks or a description, and use them so; do nothing if the human goes back."""
        from tui_tasks.dialects.requests.quick_add_syntax import items_of
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        assert self._words is not None
        typed, at = self._words.value, self._words.cursor_position
        items = items_of(typed[:at] + text + typed[at:])
        too_many = f"at most {MAX_LINES:,} at once" if len(items) > MAX_LINES else ""
        whole = "the description of this task" if typed.strip() else "one task: first its title, then its description"
        tasks = f"a task a line: {count(len(items), 'task')}{self._kept_as_typed(items) if not too_many else ''}"
        choices = [Choice("t", tasks, "", too_many), Choice("d", whole)]
        title = f"{count(len(text.splitlines()), 'line')} were pasted"
        key = await self.context.ask(Menu(self.context, title, choices))
        if key == "t":
            self.post_message(self.Add([self._task_from(item) for item in items], self._place, typed))
            self.close()
        elif key == "d":
            name, _, rest = text.strip().partition("\n") if not typed.strip() else (typed, "", text.strip("\n"))
            self._write(name.strip(), rest.strip("\n"))

    def _kept_as_typed(self, items: Sequence[str]) -> str:
        """Return how many pasted lines have a mistake and become titles as they are, and the first; empty: none."""
        wrong = [item for item in items if self._wrong(self._parsed(item))]
        return f"; {count(len(wrong), 'title')} with a mistake, as typed: {safe_line(wrong[0], 30)}" if wrong else ""

    def _task_from(self, item: str) -> NewTask:
        """Return the task of a pasted line; a line with a mistake becomes a title as it is."""
        from tui_tasks.dialects.requests.quick_add_syntax import Draft

        draft = self._parsed(item)
        return NewTask(Draft(item)) if self._wrong(draft) else NewTask(draft, self._depends_on(draft))

    def _wrong(self, draft: Draft) -> str:
        missing = [number for number in draft.after if self._task_of(number) is None]
        if missing:
            return f"there is no #{missing[0]}"
        return draft.problem or ("a task needs a title" if is_blank(draft.name) else "")

    def _preview_parts(self, width: int) -> list[Part]:
        """Return how the line is understood, with a sign where there is more than the screen is wide."""
        shown: list[Part] = [("   ", "")]
        left = width - 4
        for text, style in self._parts:
            shown.append((safe_line(text, left), style))
            left -= cell_len(text)
            if left <= 0:
                break
        return shown

    def _preview(self) -> None:
        from tui_tasks.dialects.requests.quick_add_syntax import SIGNS_HELP, title_hint

        draft = self._parsed(self._words.value if self._words is not None else "")
        parts: list[Part] = [(safe_line(draft.problem, 300), "$state-failed")] if draft.problem else []
        for number in draft.after:
            task = self._task_of(number)
            name = safe_line(task.name, 24) if task is not None else "is not there"
            parts.append((f"after #{number} {name}", "" if task is not None else "$state-failed"))
        parts += [(safe_line(draft.agent, 24), "$state-in-progress")] if draft.agent else []
        parts += [(safe_line(tag, 24), "") for tag in draft.tags]
        parts += [(vocab.priority_word(draft.priority), "$state-overdue")] if draft.priority is not None else []
        now = local_time(self.context.clock.now(), self.context.clock.zone)
        for name, value in draft.fields.items():
            parts.append((f"no {name}" if value is None else FIELDS[name].long(value, now), ""))
        if self._description:
            parts.append((f"description: {count(len(self._description.splitlines()), 'line')}", ""))
        hint = title_hint(draft.name, "open its list")
        parts += [(safe_line(hint, 300), "$state-overdue")] if hint else []
        joined = [piece for part in parts for piece in ((" · ", "$muted"), part)]
        self._parts = joined[1:] or [(SIGNS_HELP, "$muted")]
        self._preview_line.redraw()
