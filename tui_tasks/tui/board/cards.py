"""What a card of the board says, and how its lines are laid out. The layout is pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tui_tasks.core import vocab
from tui_tasks.core.read.tasks import pages
from tui_tasks.core.read.tasks.board_pages import NEEDS_YOU, Card
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.screens import agent_text
from tui_tasks.tui.tasks.task_note import ask_of, field_parts, last_word, quoted
from tui_tasks.tui.widgets import text_lines
from tui_tasks.tui.widgets.styles import Part

if TYPE_CHECKING:
    from tui_tasks.tui.app.app import TaskApp

# Dependencies looked at to tell what a blocked task waits for.
_MOST_HOLDERS: Final = 5
_QUIET: Final = ("done", "skipped", "cancelled")
_PRIORITIES: Final = {vocab.URGENT: "urgent", vocab.HIGH: "high"}


@dataclass(frozen=True, slots=True)
class CardContent:
    """What a card says: its name, how it stands, and what was said last. All of it is safe to draw, but `name`."""

    name: str
    standing: tuple[Part, ...] = ()
    note: str = ""
    mark: Part | None = None
    quiet: bool = False
    note_first: bool = False
    lasts: int = 0
    """For how many microseconds it stays true; 0: until something changes."""


def face_of(app: TaskApp, card: Card, marked: bool) -> CardContent:
    """Find out what a card says now; `marked`: its column holds cards of several states, so it shows its own."""
    now, ascii_only = app.now(), app.ascii_only
    state = look(card.part)
    mark = (state.mark(ascii_only=ascii_only), state.color) if marked else None
    who = safe_line(agent_text.who(card.who), 16)
    told = [] if card.finished_at else list(field_parts(app, card))
    fields, stays = [part for part, _ in told], [lasts for _, lasts in told]
    if card.part == "pending":
        return CardContent(card.name, _pending(app, card, who, fields), mark=mark, lasts=min(stays, default=0))
    since, note = card.updated_at, ""
    if card.part == NEEDS_YOU:
        ask = ask_of(app, card)
        if ask is not None:
            since, note, who = ask.opened_at, quoted(ask.question), safe_line(ask.agent, 16)
    elif card.part in ("in_progress", "failed"):
        note = last_word(app, card, card.part)
    else:
        since = card.finished_at or since
    standing = tuple(part for part in ((who, "$muted"), (age(since, now), "$muted"), *fields) if part[0])
    lasts = min([age_lasts(since, now), *stays])
    return CardContent(card.name, standing, note, mark, card.part in _QUIET, card.part == "failed", lasts)


def _pending(app: TaskApp, card: Card, who: str, fields: Sequence[Part]) -> tuple[Part, ...]:
    """What holds a pending task up, how urgent it is, when it is due, whose it is."""
    parts: list[Part] = []
    if card.blocked:
        held = look("blocked")
        number = _holder(app, card)
        after = f" after {number}" if number else " blocked"
        parts.append((f"{held.mark(ascii_only=app.ascii_only)}{after}", held.color))
    if card.priority in _PRIORITIES:
        parts.append((_PRIORITIES[card.priority], "$changed"))
    parts += fields
    if who:
        parts.append((who, "$muted"))
    return tuple(parts)


def _holder(app: TaskApp, card: Card) -> int:
    """The number of the first task that holds a card up, 0 where it is not at hand."""
    for uid in card.depends_on[:_MOST_HOLDERS]:
        task = pages.line(app.bridge.db, uid)
        if task is not None and not task.deleted and task.status not in vocab.RELEASING:
            return app.place(task) if app.situation.places.is_quick(task.list_id) else 0
    return 0


def lines_of(face: CardContent, room: int, most: int, *, ascii_only: bool = False) -> list[list[Part]]:
    """Lay a card out on at most `most` lines of `room` cells: its name first, then how it stands, then the note."""
    room = max(room, 4)
    standing = _joined(face.standing, room, ascii_only)
    first = face.note if face.note_first else ""
    name = _name(face, room, most, 0 if first else _width(standing), ascii_only)
    beside = len(name) == most > 1 and bool(standing) and not first
    laid: list[list[Part]] = [[(text, "$muted" if face.quiet else "")] for text in name]
    if beside:
        laid[-1] += [("  ", ""), *standing]
    if face.mark:
        laid[-1] += [(" ", ""), face.mark]
    if first:
        laid += _note(first, room, max(1, most - len(laid) - 1), ascii_only) if len(laid) < most else []
    if standing and not beside and len(laid) < most:
        laid.append(standing)
        if len(laid) == most and face.note and not first:
            _append(laid[-1], face.note.strip('"'), room, ascii_only)
    if face.note and not first:
        laid += _note(face.note, room, most - len(laid), ascii_only)
    return laid


def _name(face: CardContent, room: int, most: int, standing: int, ascii_only: bool) -> list[str]:
    """The name on one line or two: on two where there is room for what has to be told below or beside it."""
    gone = cell_len(face.mark[0]) + 1 if face.mark else 0
    name = wrapped(face.name, room - gone, min(most, 2), ascii_only=ascii_only)
    told = bool(face.note if face.note_first else standing)
    if len(name) < most or not told:
        return name
    if standing and cell_len(name[-1]) + 2 + standing + gone <= room:
        return name
    return wrapped(face.name, room - gone, max(1, most - 1), ascii_only=ascii_only)


def _width(parts: Sequence[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)


def _note(text: str, room: int, most: int, ascii_only: bool) -> list[list[Part]]:
    shown = wrapped(text, room, most, ascii_only=ascii_only) if most > 0 else []
    return [[(line, "$muted")] for line in shown]


def _joined(parts: Sequence[Part], room: int, ascii_only: bool) -> list[Part]:
    """Put parts on one line, those that there is room for."""
    line: list[Part] = []
    used = 0
    for text, ink in parts:
        gap = 3 if line else 0
        if line and used + gap + cell_len(text) > room:
            break
        line += [(dot(ascii_only), "$muted")] if line else []
        shown = safe_line(text, room - used - gap, ascii_only=ascii_only)
        line.append((shown, ink))
        used += gap + cell_len(shown)
    return line


def _append(line: list[Part], text: str, room: int, ascii_only: bool) -> None:
    """Put the beginning of a note behind what is on a line, where it is worth it."""
    left = room - _width(line) - 3
    if left >= 12:
        line += [(dot(ascii_only), "$muted"), (safe_line(text, left, ascii_only=ascii_only), "$muted")]


def dot(ascii_only: bool) -> str:
    """What stands between the words of a line."""
    return " - " if ascii_only else " · "


def wrapped(text: str, cells: int, most: int, *, ascii_only: bool = False) -> list[str]:
    """Return `text` made safe, broken between words into at most `most` lines; what is cut ends in `…`."""
    found = text_lines.wrapped(safe_line(text, cells * (most + 1), ascii_only=ascii_only), cells)
    if len(found) <= most:
        return found
    return [*found[: most - 1], safe_line(" ".join(found[most - 1 :]), cells, ascii_only=ascii_only)]
