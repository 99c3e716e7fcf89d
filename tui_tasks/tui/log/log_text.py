"""A journal entry as text: sign, kind, actor, and what happened. Pure; the text is not yet safe to draw."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.read.agents.session_queries import own_words
from tui_tasks.core.read.pages import log_words
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.core.read.pages.log_words import EDITED, FIELD_WORDS, OF_HOLDER, OK, RESTORED, SWITCHES, phrase
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.times import duration
from tui_tasks.tui.agents import agent_text

SEEN: Final = "seen"
EARLIER: Final = "before"
MARKS: Final = {SEEN: "you last looked here", EARLIER: "earlier entries were compacted away"}
"""Lines between the entries that are none themselves: their words, with their texts."""


class LogMark(NamedTuple):
    """The mark of a kind: a glyph of its own (or of `glyphs.SIGNS`, `glyphs.LOOKS`), and its style."""

    mark: str
    style: str = "$muted"


LOG_MARKS: Final[dict[str, LogMark]] = {
    "new": LogMark("+"),
    "log": LogMark("log"),
    "edit": LogMark("~"),
    "move": LogMark("~"),
    "delete": LogMark("x"),
    "back": LogMark("+"),
    "link": LogMark("~"),
    "save": LogMark("~"),
    "ask": LogMark("needs_you", "$state-needs-you"),
    "close": LogMark("x"),
    "answer": LogMark("="),
    "claim": LogMark("~"),
    "run": LogMark("scheduled"),
    "fail": LogMark("failed", "$state-failed"),
    "status": LogMark("status"),
    "tell": LogMark("=", "$changed"),
    "pause": LogMark("stuck", "$state-overdue"),
    "resume": LogMark("=", "$changed"),
    "review": LogMark("=", "$changed"),
    "stuck": LogMark("stuck", "$state-overdue"),
    "check": LogMark("=", "$changed"),
    "refuse": LogMark("stuck", "$state-overdue"),
    "terminal": LogMark("stuck", "$state-overdue"),
    SEEN: LogMark("rule", "$changed"),
    EARLIER: LogMark("rule"),
}


def mark_of(line: LogLine, *, ascii_only: bool) -> tuple[str, str]:
    """Return the mark of an entry, one cell, and its style; a new status has that status's colour."""
    mark = LOG_MARKS.get(line.word, LogMark("log"))
    style = look(str(line.new.get("status"))).color if line.word == "status" else mark.style
    if len(mark.mark) == 1:
        return mark.mark, style
    if mark.mark in ("needs_you", "failed", "stuck"):
        return look(mark.mark).mark(ascii_only=ascii_only), style
    return sign(mark.mark, ascii_only=ascii_only), style


def who_of(line: LogLine) -> str:
    """Return the name of the actor."""
    return log_words.SCHEDULER if line.actor == vocab.SYSTEM and line.job is not None else agent_text.who(line.actor)


def text_of(line: LogLine, *, ascii_only: bool = False) -> str:
    """Return what happened in one phrase; it includes texts of agents unchanged, long ones cut."""
    return _undo_word(line) + _text(line, "->" if ascii_only else "→")


def _undo_word(line: LogLine) -> str:
    """Return `undo: ` or `redo: ` of an entry that is one; else nothing."""
    return f"{log_words.REDO if line.is_redo else log_words.UNDO} " if line.undoes is not None else ""


def many(line: LogLine) -> str:
    """Return how many entries a line stands for: `4`, `99+`."""
    return f"{line.count - 1}+" if line.has_more else f"{line.count}"


def names_task(line: LogLine) -> bool:
    """Return whether the task's name is shown before the text: the entry is about a task, and does not name it."""
    says_it = line.word in ("new", "delete", "back")
    return line.task is not None and bool(line.name) and not says_it


def name_and_text(line: LogLine, *, ascii_only: bool = False) -> tuple[str, str]:
    """Return the name of the task or job that an entry is about, and what happened without it."""
    if line.entity in ("run", "job") and (said := _said_of_job(line)):
        return line.name or "job", f"{_undo_word(line)}{said}"
    return line.name or "" if names_task(line) else "", text_of(line, ascii_only=ascii_only)


def _text(line: LogLine, arrow: str) -> str:
    new, old, name = line.new, line.old, line.name or ""
    if line.word in MARKS:
        return MARKS[line.word]
    if line.entity in ("run", "job"):
        return _of_job(line)
    if line.word in ("status", "fail") and line.entity == "task":
        was, became = (look(str(values.get("status"))).word for values in (old, new))
        step = f"{was} {arrow} {became}"
        return line.reason or step if line.word == "fail" else f"{step}: {line.reason}" if line.reason else step
    if line.word == "log":
        to = f"{phrase('message.sent', {'agent': agent_text.who(line.holder)})}: " if line.holder is not None else ""
        return f"{to}{new.get('message', '')}"
    if line.word in ("new", "delete", "back"):
        return f"list {name}" if line.entity == "list" else str(new.get("name") or name)
    if line.word in ("edit", "link"):
        return _edit(line, arrow)
    if line.word == "move" and line.count > 1:
        return f"{phrase(line.kind, new)} {many(line)} times"
    return _of_people(line)


def _of_people(line: LogLine) -> str:
    """Return the text of a question, a message, a claim, or another entry that is not about a task or job itself."""
    new, kind = line.new, line.kind
    if kind in ("message", "message.sent"):
        return f"{phrase(kind, new)}: {new.get('text')}"
    if line.word == "close":
        return f"{new.get('reason') or phrase(kind, new)}: {line.asked or 'a question'}"
    if kind == "ask.answered" and line.holder is not None:
        return f"{str(new.get('answer')).rstrip('.')}, to {agent_text.who(line.holder)}: {line.asked}"
    if kind.startswith("ask."):
        return str(new.get("question") or new.get("answer") or "a question")
    if line.word == "review":
        reason = f": {new['decline_reason']}" if new.get("decline_reason") else ""
        return f"{phrase(kind, new)}{reason}"
    if kind == "check.finished":
        return f'{phrase(kind, new)} "{new.get("name")}": {new.get("state")}'
    if kind == "tool.failed":
        return f"{phrase(kind, new, tool=new.get('tool'))}: {new.get('error')}"
    if kind == "session.failed":
        return f"{phrase(kind, new)}: {new['last_message']}" if new.get("last_message") else phrase(kind, new)
    if kind == "session.prompted" and new.get("last_prompt"):
        asked = own_words(str(new["last_prompt"]))
        return f"{phrase(kind, new)}: {asked}" if asked else phrase(kind, {})
    if kind == "session.idle" and new.get("last_message"):
        return f"{phrase(kind, new)}: {new['last_message']}"
    if line.word == "stuck":
        return f"{line.uid} {new.get('text') or phrase('agent.unstuck', new)}"
    if kind.startswith("agent."):
        words = (str(new[part]) for part in ("tool", "message") if new.get(part))
        return ": ".join([line.uid, *words] if line.word in ("pause", "resume") else words)
    if line.word == "terminal":
        return f"{new.get('command')} at {new.get('terminal')} < {' < '.join(map(str, new.get('parents') or ()))}"
    if line.holder is not None:
        if kind == "claim.taken":
            return phrase(kind, new, lease=agent_text.who(line.holder))
        if kind == "work.restored" and (ended := str(line.old.get("state", "merged"))) in RESTORED:
            return RESTORED[ended].format(holder=agent_text.who(line.holder))
        what, _, end = kind.partition(".")
        end = phrase(kind, new).removeprefix("work ") if kind == "work.updated" else end
        text = OF_HOLDER.format(what=what, holder=agent_text.who(line.holder), end=end)
        return f"{text}: {new['message']}" if new.get("message") else text
    lease, names = duration(int(new.get("lease") or 0)).removesuffix(" 00s"), ", ".join(new.get("names") or ())
    return phrase(kind, new, lease=lease, names=names, name=new.get("name") or "a check", last=new.get("last") or 0)


def _edit(line: LogLine, arrow: str) -> str:
    """Return which fields were changed, with short values."""
    if line.entity == "log":
        return SWITCHES["deleted"][bool(line.new.get("deleted"))]
    parts = []
    for field, value in line.new.items():
        was = line.old.get(field)
        if field in ("list_id", "rank", "deleted"):
            continue
        if field in EDITED:
            parts.append(f"{EDITED[field]} {was}" if field == "name" else EDITED[field])
        elif field in SWITCHES:
            parts.append(SWITCHES[field][bool(value)])
        elif field in ("priority", "agent", "domain"):
            parts.append(f"{field} {_word(field, was)} {arrow} {_word(field, value)}")
        else:
            parts.append(FIELD_WORDS.get(field, field))
    head = f"list {line.name}: " if line.entity == "list" else ""
    return head + (", ".join(parts) or line.kind.partition(".")[2])


def _word(field: str, value: Any) -> str:
    if value is None:
        return "-"
    return vocab.PRIORITY_NAMES.get(value, str(value)) if field == "priority" else str(value)


def _of_job(line: LogLine) -> str:
    name, said = line.name or "job", _said_of_job(line)
    if not said:
        return f"job {name}"
    has_failed = line.kind == "run.finished" and line.new.get("outcome") != "success"
    return f"{name}{': ' if has_failed else '  '}{said}"


def _said_of_job(line: LogLine) -> str:
    """Return what happened to a job or one of its runs; empty for a new or deleted one."""
    new = line.new
    if line.kind == "run.finished":
        took = f" {duration(line.took)}" if line.took is not None else ""
        if line.count > 1:
            return f"{many(line)} runs {OK}{f', last{took}' if took else ''}"
        if new.get("outcome") == "success":
            return f"{OK}{took}"
        return str(line.reason or new.get("reason") or new.get("outcome"))
    if line.kind == "job.decided":
        times = len(new.get("times") or ())
        reason = f": {new['reason']}" if new.get("reason") else ""
        return f"{times} due time{'' if times == 1 else 's'} {new.get('decision')}{reason}"
    if line.kind in ("run.started", "run.requested"):
        return line.kind.partition(".")[2]
    if line.kind == "job.updated":
        if set(new) == {"enabled"}:
            return SWITCHES["enabled"][bool(new["enabled"])]
        changed = ", ".join(FIELD_WORDS.get(field, field) for field in new if field != "name_key")
        return f"{changed} as before" if line.undoes is not None and not line.is_redo else changed
    return ""
