"""The content of the board's cards, and the layout of their lines. The layout is pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU, Card
from tui_tasks.core.read.tasks.task_queries import aged_from
from tui_tasks.core.rules.agents.request_text import ask_options
from tui_tasks.core.unhidden_text import unhidden_line
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.text.word_cuts import safe_question
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.painting import text_lines
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.tasks import task_text
from tui_tasks.tui.tasks.task_text import after_text, ask_of, field_parts, last_word

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_QUIET: Final = ("done", "skipped", "cancelled")
MOST_LINES: Final = 12
"""A card has at most so many lines, wherever there is room."""
# Up to so many lines, a card has two for its name, and one for its standing.
_FEW_LINES: Final = 4
_NAME_LINES: Final = 4
_NAME_AND_CHOICE: Final = 3
_STANDING_LINES: Final = 3
_NOTE: Final = 400
# In cells: the part of a name or a note that a column makes room for, on so many lines.
_AT_A_GLANCE: Final = 80
_NAME_AT_A_GLANCE: Final = 2
_NOTE_AT_A_GLANCE: Final = 3
_TAGS: Final = 6
# In cells: a tag at most, what is shown of a note behind the standing at least, and an age.
_TAG: Final = 20
_LEAST_NOTE: Final = 8
_AGE: Final = 3


@dataclass(frozen=True, slots=True)
class CardContent:
    """The content of a card. All text but `name` is safe to draw."""

    name: str
    standing: tuple[Part, ...] = ()
    """The task's standing: who has it, since when, what blocks it, when it is due, its tags."""
    note: Part = ("", "")
    """What was said last, asked, or the reason of a failure."""
    glyph: Part | None = None
    """That of the state, in a column of several states."""
    is_quiet: bool = False
    """Whether it is over, and drawn fainter."""
    note_first: bool = False
    """Whether the note matters more than the standing."""
    is_question: bool = False
    """Whether the note is a question, which keeps its end where it is cut."""
    choice: str = ""
    """The answers to choose from, `pyjwt or jose?`, which stand for the question where a long name leaves no line."""
    age: str = ""
    """The part of the standing that does not stand alone on a line."""
    lasts: int = 0
    """For how many microseconds this stays true; 0: until something changes."""


class _Say(NamedTuple):
    """What the state of a card says: its glyph, a note, who it is about and since when, and what checks have proven."""

    mark: Part
    note: Part
    who: str
    since: int
    checked: Part | None


def content_of(context: Context, card: Card, *, has_mark: bool) -> CardContent:
    """Return the content of a card now; `has_mark`: including the glyph of its status."""
    now = context.clock.now()
    fields, spans = _fields(context, card)
    say = _say_of(context, card, has_mark=has_mark)
    lasts = min([age_lasts(say.since, now), *spans, *_of_standstill(context, card)])
    aged, glyph = age(say.since, now), say.mark if has_mark else None
    if card.part == "pending":
        name = unhidden_line(card.name, is_prose=True, ascii_only=context.ascii_only) if card.held else card.name
        standing = _pending(context, card, say, fields, aged)
        return CardContent(name, standing, say.note, glyph, note_first=bool(say.note[0]), age=aged, lasts=lasts)
    who = say.who
    if say.note[0] == task_text.stands_still(context, card.uid):
        # The note names the agent, and since when it is gone.
        who, aged = "", "" if context.state.without_agent(card.uid) else aged
    parts = (*[say.checked] * (say.checked is not None), (who, "$muted"), (aged, "$muted"), *fields)
    asked = ask_of(context, card) if card.part == NEEDS_YOU else None
    is_question = asked is not None and not asked.is_permission
    return CardContent(
        card.name,
        tuple(part for part in parts if part is not None and part[0]),
        say.note,
        glyph,
        is_quiet=card.part in _QUIET,
        note_first=card.part in ("failed", NEEDS_YOU) or card.uid in context.state.stuck,
        is_question=is_question,
        choice=_choice(asked, ascii_only=context.ascii_only) if asked is not None and is_question else "",
        age=aged,
        lasts=lasts,
    )


def _fields(context: Context, card: Card) -> tuple[list[Part], list[int]]:
    """Return how urgent a task is, when it is due and its tags; and for how many microseconds each stays true."""
    timed = [] if card.finished_at else list(field_parts(context, card))
    fields, spans = [part for part, _ in timed], [lasts for _, lasts in timed]
    urgency = task_text.priority(card)
    if urgency is not None and card.priority != vocab.LOW:
        fields.insert(0, urgency)
    if not card.finished_at:
        fields += [(f"#{safe_line(tag, _TAG, ascii_only=context.ascii_only)}", "$muted") for tag in card.tags[:_TAGS]]
    return fields, spans


def _choice(ask: Ask, *, ascii_only: bool) -> str:
    """Return the answers to a question, `pyjwt or jose?`; empty where none is offered."""
    options = ask_options(ask, ask.options, ascii_only=ascii_only)
    return safe_line(f"{' or '.join(options)}?", _NOTE, ascii_only=ascii_only) if options else ""


def _say_of(context: Context, card: Card, *, has_mark: bool) -> _Say:
    still, (checked, is_proven) = task_text.stands_still(context, card.uid), task_text.proof(context, card)
    mark, note = _mark(context, card.part), ("", "$muted")
    if card.part == NEEDS_YOU:
        return _need_of(context, card, still, checked, has_mark=has_mark)
    if card.part == "pending":
        note = still or "", "$state-overdue"
    elif card.part == "done" and not is_proven:
        mark = mark[0], "$muted"
    elif card.part in ("in_progress", "failed"):
        color = "$muted" if card.part == "failed" else ""
        note = (still, color or "$state-overdue") if still else (last_word(context, card, card.part), color)
    return _Say(mark, note, _named(card.who), aged_from(card), checked)


def _need_of(context: Context, card: Card, still: str | None, checked: Part | None, *, has_mark: bool) -> _Say:
    """Return what a card says that needs the human: a question, a failed check, work to review, or a lost agent."""
    if (ask := ask_of(context, card)) is not None:
        asks = safe_line(ask_text.request_line(ask, ascii_only=context.ascii_only), _NOTE)
        return _Say(_mark(context, NEEDS_YOU), (asks, "$muted"), _named(ask.agent), ask.opened_at, checked)
    state, who, since = context.state, _named(card.who), aged_from(card)
    if (failed := task_text.failed_check(context, card)) is not None:
        mark = _mark(context, "check_failed")
        note = failed if has_mark else f"{mark[0]} {failed}"
        return _Say(mark, (note, "$muted"), who, state.failing_checks[card.uid], None)
    if card.uid in state.works.reviewable:
        mark, since = _mark(context, "reviewable"), state.works.reviewed_since[card.uid]
        note = f"{mark[0]} {state.works.reviewable[card.uid] or look('reviewable').word}"
    elif (why := task_text.failed_work(context, card.uid)) is not None:
        mark = _mark(context, "agent_failed")
        note = f"{mark[0]} {why}"
    else:
        mark, note = _mark(context, state.status_of(card)), still or ""
    return _Say(mark, (note, "$muted"), who, since, checked)


def _mark(context: Context, status: str) -> Part:
    shown = look(status)
    return shown.mark(ascii_only=context.ascii_only), shown.color


def _named(agent: str) -> str:
    return safe_ends(agent_text.who(agent), 16)


def _of_standstill(context: Context, card: Card) -> list[int]:
    """Return for how many microseconds it stays true who has left the task; empty where nobody has."""
    lasts = task_text.standstill_lasts(context, card.uid)
    return [] if lasts is None else [lasts]


def _pending(context: Context, card: Card, say: _Say, fields: Sequence[Part], since: str) -> tuple[Part, ...]:
    """Return what blocks a pending task, that it is next, what its checks say, whose it is, and beside any of these its
    age; then how urgent it is, when it is due, and its tags.
    """
    parts: list[Part] = []
    if context.state.suggested == card.uid:
        parts.append(("next", "$primary"))
    if card.held:
        mark, color = _mark(context, "held")
        parts.append((f"{mark} {look('held').word}", color))
    elif card.blocked:
        mark, color = _mark(context, "blocked")
        parts.append((f"{mark} {after_text(context, card)}", color))
    if say.checked is not None:
        parts.append(say.checked)
    if say.who:
        parts.append((say.who, "$muted"))
    if not parts and not fields:
        return ()
    return (*parts, (since, "$muted"), *fields) if parts else (*fields, (since, "$muted"))


def lines_of(content: CardContent, room: int, most: int, *, ascii_only: bool = False) -> list[list[Part]]:
    """Return a card as at most `most` lines of `room` cells: its name, the note, and its standing, below each other.

    What matters more of the last two is cut last.
    """
    room = max(room, 6)
    text, color = content.note
    first, is_small = bool(text) and content.note_first, most <= _FEW_LINES
    standing = _joined(content.standing, room, ascii_only, content.age)
    standing = _cut(standing, 1 if is_small else _STANDING_LINES, room, ascii_only, content.age)
    most_of_name = min(most, 2 if is_small else _NAME_LINES)
    name = _name(content, room, most_of_name, ascii_only)
    is_full = len(name) == most > 1 and len(standing) == 1 and not first
    if is_full and parts_width(name[-1]) + 2 + parts_width(standing[0]) <= room:
        return [*name[:-1], [*name[-1], ("  ", ""), *standing[0]]]
    # The lines above the board have the whole question.
    is_short = bool(content.choice) and most == _NAME_AND_CHOICE and len(name) > 1
    kept = min(most - 1, bool(standing) + first) if not is_short else 1
    if len(name) > most - kept:
        name = _name(content, room, most - kept, ascii_only)
    left = most - len(name)
    if is_short:
        line: list[Part] = [(safe_line(content.choice, room, ascii_only=ascii_only), color)]
        _append(line, content.age, room, ascii_only, least=cell_len(content.age))
        return [*name, line]
    if first and standing and left == 1:
        _append(standing[0], text, room, ascii_only, color)
        return [*name, standing[0]]
    if first:
        most_of_note = max(left - bool(standing), 1)
        if content.is_question:
            text = _fitted_question(text, room, most_of_note, ascii_only)
        note = wrapped(text, room, most_of_note, ascii_only=ascii_only) if left else []
        return [*name, *([(line, color)] for line in note), *standing[: left - len(note)]]
    standing = _cut(standing, left, room, ascii_only, content.age)
    left -= len(standing)
    note = wrapped(text, room, left, ascii_only=ascii_only) if text and left else []
    if text and standing and not left:
        _append(standing[-1], text.strip('"'), room, ascii_only)
    return [*name, *([(line, color)] for line in note), *standing]


def width_of(content: CardContent, *, ascii_only: bool = False) -> int:
    """Return the least width in which a card's name and its note are read at a glance."""
    name = _least_width(content.name, _NAME_AT_A_GLANCE, ascii_only)
    note = _least_width(content.note[0], _NOTE_AT_A_GLANCE, ascii_only)
    return max(name, note)


def _least_width(text: str, most: int, ascii_only: bool) -> int:
    """Return the least width in which the beginning of a text has so many lines at most."""
    shown = safe_line(text, _AT_A_GLANCE, ascii_only=ascii_only)
    width = -(-cell_len(shown) // most)
    while len(text_lines.wrapped(shown, max(width, 1))) > most:
        width += 1
    return width


def _fitted_question(text: str, room: int, most: int, ascii_only: bool) -> str:
    """Return a question cut in the middle, so that it fits on so many lines; words at their ends leave cells free."""
    if len(text_lines.wrapped(text, room)) <= most:
        return text
    sizes = range(room * most, room * most // 2, -2)
    cuts = (safe_question(text, size, ascii_only=ascii_only) for size in sizes)
    return next((cut for cut in cuts if len(text_lines.wrapped(cut, room)) <= most), text)


def _name(content: CardContent, room: int, most: int, ascii_only: bool) -> list[list[Part]]:
    """Return the name on at most so many lines."""
    color = "$muted" if content.is_quiet else ""
    return [[(line, color)] for line in wrapped(content.name, room, most, ascii_only=ascii_only)]


def _joined(parts: Sequence[Part], room: int, ascii_only: bool, age_part: str) -> list[list[Part]]:
    """Return the parts on lines of `room` cells, with dots between those of a line; an age takes the part before it
    along to its line, and has as many cells there as the next ages have: the lines stay as they are when it changes.
    """
    lines: list[list[Part]] = []
    used = 0
    for text, style in parts:
        shown = safe_line(text, room, ascii_only=ascii_only)
        cells = max(cell_len(shown), _AGE if text == age_part else 0)
        if lines and used + 3 + cells <= room:
            lines[-1] += [(dot(ascii_only), "$muted"), (shown, style)]
            used += 3 + cells
        else:
            before = lines[-1].pop() if text == age_part and lines and len(lines[-1]) > 1 else None
            if before is not None:
                lines[-1].pop()
            lines.append([*([before, (dot(ascii_only), "$muted")] if before is not None else []), (shown, style)])
            used = parts_width(lines[-1]) + cells - cell_len(shown)
    return lines


def _cut(lines: list[list[Part]], most: int, room: int, ascii_only: bool, age_part: str) -> list[list[Part]]:
    """Return the first lines of a standing; an age from below goes to the end of the last of them where it fits."""
    kept = lines[:most]
    if kept and age_part and any(text == age_part for line in lines[most:] for text, _ in line):
        _append(kept[-1], age_part, room, ascii_only, least=cell_len(age_part))
    return kept


def _append(
    line: list[Part], text: str, room: int, ascii_only: bool, color: str = "$muted", *, least: int = _LEAST_NOTE
) -> None:
    """Add the beginning of a note to a line, if enough of it fits."""
    left = room - parts_width(line) - 3
    if left >= least:
        line += [(dot(ascii_only), "$muted"), (safe_line(text, left, ascii_only=ascii_only), color)]


def dot(ascii_only: bool) -> str:
    """Return the separator of a line's parts."""
    return " - " if ascii_only else " · "


def wrapped(text: str, cells: int, most: int, *, ascii_only: bool = False) -> list[str]:
    """Return `text` made safe, broken between words into at most `most` lines; what is cut ends in `…`."""
    lines = text_lines.wrapped(safe_line(text, cells * (most + 1), ascii_only=ascii_only), cells)
    if len(lines) <= most:
        return lines
    head, rest = lines[: most - 1], lines[most - 1 :]
    return [*head, safe_line(" ".join(rest).lstrip(), cells, ascii_only=ascii_only)]
