"""The palette and the help: both list what can be done, are searched as one types, and do what is chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_tasks.core import views
from tui_tasks.tui.actions import ACTIONS, Actor, Dialog
from tui_tasks.tui.format import cell_len, count, fit, plain, safe_line
from tui_tasks.tui.ink import Part
from tui_tasks.tui.now_line import FootLine
from tui_tasks.tui.row_paint import RowLook
from tui_tasks.tui.window import RowMessage, RowWindow
from tui_tasks.tui.word_line import PickerWords

if TYPE_CHECKING:
    from tui_tasks.tui.app import TaskApp

MOST_LISTS = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to choose. `why_not` keeps it from being done and is shown; `look` tries it out."""

    title: str
    key: str = ""
    why_not: str = ""
    run: Callable[[], None] | None = None
    look: Callable[[], None] | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class _Numbered:
    number: int
    entry: Entry


class EntriesFound:
    """The entries that hold all words that were typed, those whose titles begin with them first: a `Source`."""

    def __init__(self, entries: Sequence[Entry], text: str) -> None:
        words = text.casefold().split()
        ranked = [(self._rank(entry, words), at) for at, entry in enumerate(entries)]
        found = sorted(pair for pair in ranked if pair[0] >= 0)
        self._rows = [_Numbered(number, entries[at]) for number, (_, at) in enumerate(found)]

    @staticmethod
    def _rank(entry: Entry, words: list[str]) -> int:
        title = entry.title.casefold()
        if not words:
            return 0
        if all(word in title for word in words):
            starts = f" {title}"
            return 0 if title.startswith(words[0]) else 1 if all(f" {word}" in starts for word in words) else 2
        everything = f"{title} {entry.key.casefold()} {entry.words.casefold()}"
        return 3 if all(word in everything for word in words) else -1

    def first(self, limit: int) -> list[_Numbered]:
        """See `Source`."""
        return self._rows[:limit]

    def last(self, limit: int) -> list[_Numbered]:
        """See `Source`."""
        return self._rows[-limit:]

    def after(self, row: _Numbered, limit: int) -> list[_Numbered]:
        """See `Source`."""
        return self._rows[row.number + 1 : row.number + 1 + limit]

    def before(self, row: _Numbered, limit: int) -> list[_Numbered]:
        """See `Source`."""
        return self._rows[max(0, row.number - limit) : row.number]

    def find(self, keys: Collection[str]) -> dict[str, _Numbered]:
        """See `Source`."""
        return {key: self._rows[int(key)] for key in keys if int(key) < len(self._rows)}

    def key(self, row: _Numbered) -> str:
        """See `Source`."""
        return str(row.number)

    def order(self, row: _Numbered) -> int:
        """See `Source`."""
        return row.number

    def place(self, row: _Numbered) -> int:
        """See `Source`."""
        return row.number

    def total(self) -> int:
        """See `Source`."""
        return len(self._rows)


class EntryWindow(RowWindow[_Numbered], can_focus=False):
    """Entries, a line each: title, then key or what is against it."""

    def draw(self, row: _Numbered, look: RowLook, line: int) -> Sequence[Part]:
        """See `RowWindow`."""
        entry = row.entry
        right = f"{entry.why_not}  {entry.key}" if entry.why_not else entry.key
        right = safe_line(right, max(0, look.width // 2))
        right = f"  {right}" if right else ""
        room = max(1, look.width - 5 - cell_len(right))
        return (
            (" > " if look.cursor else "   ", "$primary bold"),
            (fit(entry.title, room), "$muted" if entry.why_not else ""),
            (right, "$muted" if entry.why_not else "$changed"),
        )

    def draw_empty(self, line: int) -> Sequence[Part]:
        """See `RowWindow`."""
        return [("   nothing by that name", "$muted")] if line == 1 else ()


class Picker(Dialog, ModalScreen[None]):
    """Entries under a line that searches them. What is chosen is done after the picker is gone."""

    AUTO_FOCUS = "PickerWords"
    WINDOW: ClassVar[type[EntryWindow]] = EntryWindow
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    def __init__(self, sign: str, entries: Sequence[Entry], *, left: Callable[[], None] | None = None) -> None:
        super().__init__()
        self._sign = sign
        self._entries = entries
        self._undo_looks = left

    def compose(self) -> ComposeResult:
        """The line and the entries, below the Now line."""
        with Vertical(classes="below"):
            with Horizontal(classes="field"):
                yield Static(plain(f" {self._sign}", "$changed bold"))
                yield PickerWords(id="search", keys=self._keys())
            yield Static("")
            yield self.WINDOW(id="entries")
            yield FootLine(id="foot")

    def _keys(self) -> dict[str, Callable[[], object]]:
        def move(by: int, page: bool = False) -> Callable[[], object]:
            def does() -> None:
                window = self.query_one(EntryWindow)
                (window.move_page if page else window.move)(by)

            return does

        return {
            "enter": self.choose,
            "escape": self.action_leave,
            **dict.fromkeys(("down", "ctrl+n", "tab"), move(1)),
            **dict.fromkeys(("up", "ctrl+p", "shift+tab"), move(-1)),
            "pagedown": move(1, page=True),
            "pageup": move(-1, page=True),
        }

    def on_mount(self) -> None:
        """Show them all."""
        self.query_one(FootLine).hint(("Enter", "Run", ""), ("↑↓", "Choose", ""), ("Esc", "Close", ""))
        self._search("")

    def _search(self, text: str) -> None:
        self.query_one(EntryWindow).show(EntriesFound(self._entries, text))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search."""
        event.stop()
        self._search(event.value)

    def on_row_window_moved(self, event: RowWindow.Moved) -> None:
        """Try the entry out, where it can be."""
        event.stop()
        row = self.query_one(EntryWindow).row
        if row is not None and row.entry.look is not None:
            row.entry.look()
        elif self._undo_looks is not None:
            self._undo_looks()

    def on_click(self, event: events.Click) -> None:
        """A click does the entry; one outside leaves."""
        if isinstance(event.widget, EntryWindow):
            if event.widget.row_at(event.y) is not None:
                self.choose()
        elif event.widget is self:
            self.action_leave()

    def on_row_window_opened(self, event: RowMessage) -> None:
        """The first click has done it."""
        event.stop()

    def choose(self) -> None:
        """Do the entry that the cursor is on."""
        row = self.query_one(EntryWindow).row if self.is_active else None
        if row is None:
            return
        entry = row.entry
        if entry.why_not:
            self.host.say(f"{entry.title}: {entry.why_not}")
            return
        if entry.look is None and self._undo_looks is not None:
            self._undo_looks()
        self.dismiss()
        if entry.run is not None:
            entry.run()

    def action_leave(self) -> None:
        """Choose nothing."""
        if self._undo_looks is not None:
            self._undo_looks()
        self.dismiss()


def palette(app: TaskApp) -> Picker:
    """Every action that can be done here, every theme, list and saved view."""
    was = app.theme
    entries = [*_actions(app), *_themes(app), *_lists(app), *_views(app)]
    return Picker(":", entries, left=lambda: setattr(app, "theme", was))


def help_screen(app: TaskApp) -> Picker:
    """Every action there is, with its key: those that can be done here first."""
    here = _actions(app)
    offered = {action.id for actor in app.actors() for action in actor.offers()}
    others = [
        Entry(action.title, app.key_of(action.id), f"in the {min(action.scopes)}", words=f"{action.help} {action.id}")
        for action in ACTIONS.values()
        if action.id not in offered
    ]
    return Picker("?", [*here, *others])


def _actions(app: TaskApp) -> list[Entry]:
    """What the focus, and what it stands in, offers now."""
    entries: dict[str, Entry] = {}
    for actor in app.actors():
        for action in actor.offers():
            if action.id not in entries:
                why = actor.why_not(action) or ""
                words = f"{action.help} {action.id}"
                key = app.key_of(action.id)
                entries[action.id] = Entry(action.title, key, why, _does(actor, action.id), words=words)
    return [entries[each] for each in ACTIONS if each in entries]


def _does(actor: Actor, id: str) -> Callable[[], None]:
    def does() -> None:
        actor.action_act(id)

    return does


def _themes(app: TaskApp) -> list[Entry]:
    def wear(name: str) -> Callable[[], None]:
        return lambda: setattr(app, "theme", name)

    def keep(name: str) -> Callable[[], None]:
        return lambda: app.flow(app.keep_theme(name))

    names = {"ansi": "ansi (terminal colours)"}
    return [Entry(f"Theme: {names.get(name, name)}", run=keep(name), look=wear(name)) for name in app.theme_names]


def _lists(app: TaskApp) -> list[Entry]:
    def go(list_id: int) -> Callable[[], None]:
        return lambda: app.show_list(list_id)

    found = list(app.situation.lists.values())[-MOST_LISTS:]
    archived = {True: "archived, "}
    return [
        Entry(
            f"List: {safe_line(each.name, 80)}",
            archived.get(each.archived, "") + count(each.total, "task"),
            run=go(each.id),
        )
        for each in sorted(found, key=lambda each: each.archived)
    ]


def _views(app: TaskApp) -> list[Entry]:
    def use(text: str) -> Callable[[], None]:
        return lambda: app.filter_by(text)

    saved = dict(app.config.views) | views.filters(app.bridge.db)
    return [Entry(f"View: {safe_line(name, 80)}", safe_line(text, 40), run=use(text)) for name, text in saved.items()]
