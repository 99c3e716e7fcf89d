"""The content of the board's cards, and the layout of their lines. The layout is pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tui_tasks.core import vocab
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU, Card
from tui_tasks.core.rules.agents.request_text import decided_line
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting import text_lines
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.tasks import task_note
from tui_tasks.tui.tasks.task_note import after_text, ask_of, field_parts, last_word, quoted

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_QUIET: Final = ("done", "skipped", "cancelled")


@dataclass(frozen=True, slots=True)
class CardContent:
    """The content of a card. All text but `name` is safe to draw."""

    name: str
    standing: tuple[Part, ...] = ()
    """The task's standing: who has it, since when, what blocks it, when it is due."""
    note: str = ""
    """What was said last."""
    mark: Part | None = None
    """The glyph of its state, in a column of several states."""
    is_quiet: bool = False
    """Whether it is over, and drawn fainter."""
    note_first: bool = False
    """Whether the note matters more than the standing."""
    lasts: int = 0
    """For how many microseconds this stays true; 0: until something changes."""


def content_of(context: Context, card: Card, *, has_mark: bool) -> CardContent:
    """Return the content of a card now; `has_mark`: including the glyph of its status."""
    now, ascii_only = context.clock.now(), context.ascii_only
    state = look(card.part)
    mark = (state.mark(ascii_only=ascii_only), state.color) if has_mark else None
    who = safe_ends(agent_text.who(card.who), 16)
    timed = [] if card.finished_at else list(field_parts(context, card))
    fields, spans = [part for part, _ in timed], [lasts for _, lasts in timed]
    if card.part == "pending":
        name = decided_line(card.name, is_prose=True, ascii_only=ascii_only) if card.held else card.name
        return CardContent(name, _pending(context, card, who, fields), mark=mark, lasts=min(spans, default=0))
    since, note = card.updated_at, ""
    if card.part == NEEDS_YOU:
        ask = ask_of(context, card)
        if ask is not None:
            since, note, who = (
                ask.opened_at,
                quoted(agent_text.request_line(ask, ascii_only=ascii_only)),
                safe_ends(agent_text.who(ask.agent), 16),
            )
        elif card.uid in context.state.reviewable:
            shown = look("reviewable")
            word = context.state.reviewable[card.uid] or shown.word
            note = f"{shown.mark(ascii_only=ascii_only)} {word}"
            mark = mark and (shown.mark(ascii_only=ascii_only), shown.color)
        else:
            note = task_note.stands_still(context, card.uid) or ""
    elif card.part in ("in_progress", "failed"):
        note = task_note.stands_still(context, card.uid) or last_word(context, card, card.part)
    else:
        since = card.finished_at or since
    checked = task_note.note(context, card)
    parts = (*[checked] * (checked is not None), (who, "$muted"), (age(since, now), "$muted"), *fields)
    standing = tuple(part for part in parts if part is not None and part[0])
    lasts = min([age_lasts(since, now), *spans])
    first = context.state.needing | context.state.stopped.keys()
    note_first = card.part == "failed" or card.uid in first
    return CardContent(card.name, standing, note, mark, card.part in _QUIET, note_first, lasts)


def _pending(context: Context, card: Card, who: str, fields: Sequence[Part]) -> tuple[Part, ...]:
    """Return what blocks a pending task, how urgent it is, when it is due, and whose it is."""
    parts: list[Part] = []
    if card.held:
        state = look("held")
        parts.append((f"{state.mark(ascii_only=context.ascii_only)} {state.word}", state.color))
    elif card.blocked:
        state = look("blocked")
        parts.append((f"{state.mark(ascii_only=context.ascii_only)} {after_text(context, card)}", state.color))
    if (urgency := task_note.priority(card)) is not None and card.priority != vocab.LOW:
        parts.append(urgency)
    parts += fields
    if who:
        parts.append((who, "$muted"))
    return tuple(parts)


def lines_of(content: CardContent, room: int, most: int, *, ascii_only: bool = False) -> list[list[Part]]:
    """Return a card as at most `most` lines of `room` cells: its name, then its status, then the note."""
    room = max(room, 4)
    standing = _joined(content.standing, room, ascii_only)
    first = content.note if content.note_first else ""
    name = _name(content, room, most, 0 if first else _width(standing), ascii_only)
    beside = len(name) == most > 1 and bool(standing) and not first
    lines: list[list[Part]] = [[(text, "$muted" if content.is_quiet else "")] for text in name]
    if beside:
        lines[-1] += [("  ", ""), *standing]
    if content.mark:
        lines[-1] += [(" ", ""), content.mark]
    if first:
        lines += _note(first, room, max(1, most - len(lines) - 1), ascii_only) if len(lines) < most else []
    if standing and not beside and len(lines) < most:
        lines.append(standing)
        if len(lines) == most and content.note and not first:
            _append(lines[-1], content.note.strip('"'), room, ascii_only)
    if content.note and not first:
        lines += _note(content.note, room, most - len(lines), ascii_only)
    return lines


def _name(content: CardContent, room: int, most: int, standing: int, ascii_only: bool) -> list[str]:
    """Return the name on one or two lines; on two only if the rest still fits."""
    taken = cell_len(content.mark[0]) + 1 if content.mark else 0
    name = wrapped(content.name, room - taken, min(most, 2), ascii_only=ascii_only)
    has_more = bool(content.note if content.note_first else standing)
    if len(name) < most or not has_more:
        return name
    if standing and cell_len(name[-1]) + 2 + standing + taken <= room:
        return name
    return wrapped(content.name, room - taken, max(1, most - 1), ascii_only=ascii_only)


def _width(parts: Sequence[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)


def _note(text: str, room: int, most: int, ascii_only: bool) -> list[list[Part]]:
    shown = wrapped(text, room, most, ascii_only=ascii_only) if most > 0 else []
    return [[(line, "$muted")] for line in shown]


def _joined(parts: Sequence[Part], room: int, ascii_only: bool) -> list[Part]:
    """Return as many parts as fit on one line."""
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
    """Add the beginning of a note to a line, if enough of it fits."""
    left = room - _width(line) - 3
    if left >= 12:
        line += [(dot(ascii_only), "$muted"), (safe_line(text, left, ascii_only=ascii_only), "$muted")]


def dot(ascii_only: bool) -> str:
    """Return the separator of a line's parts."""
    return " - " if ascii_only else " · "


def wrapped(text: str, cells: int, most: int, *, ascii_only: bool = False) -> list[str]:
    """Return `text` made safe, broken between words into at most `most` lines; what is cut ends in `…`."""
    lines = text_lines.wrapped(safe_line(text, cells * (most + 1), ascii_only=ascii_only), cells)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], safe_line(" ".join(lines[most - 1 :]), cells, ascii_only=ascii_only)]
