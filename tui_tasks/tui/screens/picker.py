"""The picker: entries that are searched as the human types; the chosen one is performed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.tui.inputs.line_inputs import PickerWords
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Dialog, plain

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One entry to choose. `why_not` is shown, and keeps it from being performed; `look` previews it.

    `beside` is drawn at the right, `key` before the title. The cursor skips a `heading`; one without a title parts
    groups where there is room. `words` also find it; `word` comes first where exactly that is typed. `color` is the
    style of `key`, in place of that of keys. One that `is_last` comes after all others, whatever is typed. Below the
    list is what the one under the cursor is `about`, where the terminal is not wide.
    """

    title: str
    beside: str = ""
    key: str = ""
    heading: bool = False
    why_not: str = ""
    run: Callable[[], None] | None = None
    look: Callable[[], None] | None = None
    words: str = ""
    word: str = ""
    color: str = ""
    is_last: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Numbered:
    """An entry with its place among those found, counted from 0."""

    number: int
    entry: PaletteEntry


def words_of(text: str) -> str:
    """Return the typed words by which entries are found: in lower case, without an `'s` and a `/` that begins a
    search.
    """
    text = text[1:] if text.startswith("/") and len(text) > 1 else text
    return " ".join(word.removesuffix("'s").removesuffix("’s") for word in text.casefold().split())


class EntriesFound:
    """The entries that contain all typed words, best matching titles first: a `Source`."""

    def __init__(self, entries: Sequence[PaletteEntry], text: str) -> None:
        text = words_of(text)
        ranked = [(self._rank(entry, text), at) for at, entry in enumerate(entries) if not (text and entry.heading)]
        pairs = sorted(pair for pair in ranked if pair[0] >= 0)
        self._rows = [Numbered(number, entries[at]) for number, (_, at) in enumerate(pairs)]

    @staticmethod
    def _rank(entry: PaletteEntry, text: str) -> int:
        """Return how far a title is from the typed text; 0: the same, -1: a word is missing."""
        title, words = entry.title.casefold(), text.split()
        if entry.is_last:
            return 7
        # Of `List: later` the name, which a person has given, goes before the words by which actions are found.
        if text in (title, entry.word, title.partition(": ")[2]) or not words:
            return 0
        if title.startswith(text) or (entry.word and entry.word.startswith(text)):
            return 1
        others = entry.words.casefold()
        if text in others.split():
            return 2
        if all(word in title for word in words):
            whole = {each.strip(":,()") for each in title.split()}
            if all(word.strip(":") in whole for word in words):
                return 2
            starts = f" {title}"
            return 3 if title.startswith(words[0]) else 4 if all(f" {word}" in starts for word in words) else 5
        everything = f"{title} {entry.key} {entry.beside} {others}".casefold()
        return 6 if all(word in everything for word in words) else -1

    def first(self, limit: int) -> list[Numbered]:
        """See `Source`."""
        return self._rows[:limit]

    def last(self, limit: int) -> list[Numbered]:
        """See `Source`."""
        return self._rows[-limit:]

    def after(self, row: Numbered, limit: int) -> list[Numbered]:
        """See `Source`."""
        return self._rows[row.number + 1 : row.number + 1 + limit]

    def before(self, row: Numbered, limit: int) -> list[Numbered]:
        """See `Source`."""
        return self._rows[max(0, row.number - limit) : row.number]

    def find(self, keys: Collection[str]) -> dict[str, Numbered]:
        """See `Source`."""
        return {key: self._rows[int(key)] for key in keys if int(key) < len(self._rows)}

    def key(self, row: Numbered) -> str:
        """See `Source`."""
        return str(row.number)

    def order(self, row: Numbered) -> int:
        """See `Source`."""
        return row.number

    def place(self, row: Numbered) -> int:
        """See `Source`."""
        return row.number

    def total(self) -> int:
        """See `Source`."""
        return len(self._rows)


# Typed, it shows the ids of all that is found, by which a configuration gives keys.
_IDS: Final = "keymap"
# Rows of a screen from which empty lines part groups of entries.
_ROOMY: Final = 24
# In cells: the column of keys in front of titles, at most, and on a narrow screen.
_KEYS_WIDE: Final = 14
_NARROW_KEYS: Final = 5


class EntryRows(RowDrawing[Numbered]):
    """Draws entries, one in each line: key, title, then `beside` or the reason against it.

    `empty` is shown where there is none; `keys_wide` is the width of the longest key in cells. Where there are keys,
    `beside` is an id: the row under the cursor has it, one whose id was `typed`, and every row if `has_ids`.
    """

    typed = ""
    has_ids = False

    def __init__(self, context: Context, empty: str = "nothing by that name: type less of it") -> None:
        super().__init__(context)
        self.empty = empty
        self.keys_wide = 0

    def draw(self, row: Numbered, look: RowLook, line: int) -> Sequence[Part]:
        """See `RowDrawing`."""
        entry = row.entry
        if entry.heading:
            return ((f" {fit(entry.title, look.width - 1)}", "bold"),)
        key = self._key(entry, look.width)
        room = look.width - 7 - cell_len(key)
        # A reason stands whole or not at all; the id of an action is left out where it would cut the title.
        left = room - cell_len(safe_line(entry.title))
        why = entry.why_not if cell_len(entry.why_not) <= max(left, room // 2) else ""
        left -= cell_len(why) + 2
        has_id = self.has_ids or look.cursor or entry.beside == self.typed
        beside = entry.beside if not self.keys_wide or (has_id and cell_len(entry.beside) <= left) else ""
        right = safe_line(f"{why}  {beside}".strip(), max(0, look.width // 2))
        right = f"  {right}" if right else ""
        room = max(1, look.width - 5 - cell_len(key) - cell_len(right))
        return (
            (" > " if look.cursor else "   ", "$primary bold"),
            (key, entry.color or ("$muted" if entry.why_not else "$key")),
            (fit(entry.title, room), "$muted" if entry.why_not else ""),
            (right, "$muted" if entry.why_not or self.keys_wide else "$key"),
        )

    def _key(self, entry: PaletteEntry, width: int) -> str:
        """Return the key before a title; on a narrow screen long ones stand out of line, to leave titles room."""
        wide = self.keys_wide if width >= NARROW else min(_NARROW_KEYS, self.keys_wide)
        return f"{fit(entry.key, max(wide, cell_len(entry.key)))}  " if self.keys_wide else ""

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """See `RowDrawing`."""
        return [(f"   {self.empty}", "$muted")] if line == 1 else ()


class Picker(Dialog[None]):
    """Entries below an input that searches them. The chosen entry is performed after the picker has closed.

    In a chooser, of few entries that people know, keys that move in a list move here until a filter begins: by `/`, or
    by a letter that does not move. Elsewhere every letter searches.
    """

    AUTO_FOCUS = "PickerWords"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    def __init__(
        self,
        context: Context,
        sign: str,
        entries: Sequence[PaletteEntry],
        *,
        enter: str = "Run",
        left: Callable[[], None] | None = None,
        drawing: EntryRows | None = None,
        typed: Callable[[str], Sequence[PaletteEntry]] = lambda _: (),
        closes_by_quit: bool = False,
        is_chooser: bool = False,
    ) -> None:
        """`enter` is what the foot line calls the choice of an entry; `left` takes back what previews have done.
        `drawing` draws the entries, None: as `EntryRows`. `typed` returns entries that a typed text alone gives.
        `closes_by_quit`: the key that quits closes it too, unless something is typed.
        """
        super().__init__(context)
        self._drawing = drawing or EntryRows(context)
        self.window = VirtualList(context, self._drawing, id="entries", focusable=False)
        self._enter = enter
        self._sign = sign
        self._entries = entries
        self._typed = typed
        self._undo_looks = left
        self._closes_by_quit = closes_by_quit
        self._is_chooser = self._is_moving = is_chooser
        self._about = Static("", id="about")

    def compose(self) -> ComposeResult:
        """Compose the input and the entries, below the Now line."""
        with Vertical(classes="below"):
            with Horizontal(classes="field"):
                yield Static(plain(f" {self._sign}", "$key bold"))
                yield PickerWords(id="search", keys=self._keys())
            yield Static("")
            yield self.window
            if any(entry.about for entry in self._entries):
                yield self._about
            yield FootLine(self.context, id="foot")

    def _keys(self) -> dict[str, Callable[[], object]]:
        def move(by: int, page: bool = False) -> Callable[[], object]:
            return lambda: self._move(by, page=page)

        return {
            "enter": self.choose,
            "escape": self.action_leave,
            **dict.fromkeys(("down", "ctrl+n", "tab"), move(1)),
            **dict.fromkeys(("up", "ctrl+p", "shift+tab"), move(-1)),
            "pagedown": move(1, page=True),
            "pageup": move(-1, page=True),
        }

    def _move(self, by: int, *, page: bool = False) -> None:
        """Move the cursor past headings; back where no entry follows."""
        window = self.window
        (window.move_page if page else window.move)(by)
        for step in (by, -by):
            before = None
            while window.row is not None and window.row.entry.heading and window.cursor != before:
                before = window.cursor
                window.move(step)

    def take_key(self, event: events.Key) -> bool:
        """Close it by the key that quits, move in a chooser, or begin its filter; return whether the key was used."""
        if self._is_moving and event.is_printable:
            return self._take_letter(event)
        is_quit = self._closes_by_quit and self.context.keymap.means(event.key, "quit")
        if is_quit:
            self.action_leave()
            # Letters of a word for the search must not run as keys.
            self.context.words.expect_rest("quit")
        elif event.is_printable:
            self._closes_by_quit = False
        return is_quit

    def _take_letter(self, event: events.Key) -> bool:
        window, means = self.window, self.context.keymap.means
        moves: dict[str, Callable[[], object]] = {"down": lambda: window.move(1), "up": lambda: window.move(-1)}
        moves |= {"first": window.move_first, "last": window.move_last}
        move = next((move for verb, move in moves.items() if means(event.key, verb)), None)
        if move is not None:
            move()
        else:
            self._begin_filter(begins=True)
        return move is not None or event.character == "/"

    def _begin_filter(self, *, begins: bool) -> None:
        """Begin to filter a chooser, or end it."""
        if self._is_chooser:
            self._is_moving = not begins
            self._show_keys()

    def _show_keys(self) -> None:
        closes = f"{self.context.keymap.key_of('quit')} Esc" if self._closes_by_quit else "Esc"
        filters = [("/", "Filter", "")] if self._is_moving else []
        keys = [("Enter", self._enter, ""), ("↑↓", "Choose", ""), *filters, (closes, "Close", "")]
        self.query_one(FootLine).hint(*keys)

    def on_mount(self) -> None:
        """Show all entries."""
        self._show_keys()
        self._search("")

    def _search(self, text: str) -> None:
        window = self.window
        self._drawing.keys_wide = min(_KEYS_WIDE, max((cell_len(entry.key) for entry in self._entries), default=0))
        typed = self._typed(text.strip())
        first, last = [one for one in typed if not one.why_not], [one for one in typed if one.why_not]
        words = words_of(text).split()
        if self._drawing.keys_wide:
            self._drawing.typed = " ".join(words)
            self._drawing.has_ids = _IDS in words or "_" in text
            text = " ".join(word for word in words if word != _IDS)
        has_room = self.app.size.height >= _ROOMY
        entries = [one for one in self._entries if has_room or one.title]
        window.show(EntriesFound([*first, *entries, *last], text))
        if window.row is not None and window.row.entry.heading:
            window.move(1)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for the typed words."""
        event.stop()
        self._begin_filter(begins=bool(event.value))
        self._search(event.value)

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        """Preview the entry, if it has a preview."""
        event.stop()
        row = self.window.row
        self._about.update(plain(row.entry.about if row is not None else "", "$muted"))
        if row is not None and row.entry.look is not None:
            row.entry.look()
        elif self._undo_looks is not None:
            self._undo_looks()

    def on_click(self, event: events.Click) -> None:
        """Perform the clicked entry; leave on a click outside."""
        if event.widget is self.window:
            if self.window.row_at(event.y) is not None:
                self.choose()
        elif event.widget is self:
            self.action_leave()

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """Ignore it: the first click has performed the entry."""
        event.stop()

    def choose(self) -> None:
        """Perform the entry under the cursor."""
        row = self.window.row if self.is_active else None
        if row is None or row.entry.heading:
            return
        entry = row.entry
        if entry.why_not:
            self.context.say(entry.why_not)
            return
        if entry.look is None and self._undo_looks is not None:
            self._undo_looks()
        self.dismiss()
        if entry.run is not None:
            entry.run()

    def action_leave(self) -> None:
        """Leave without a choice."""
        if self._undo_looks is not None:
            self._undo_looks()
        self.dismiss()
