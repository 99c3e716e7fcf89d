"""A journal entry as text: sign, kind, actor, and what happened. Pure; the text is not yet safe to draw."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.times import duration
from tui_tasks.tui.agents import agent_text

SEEN: Final = "seen"
EARLIER: Final = "before"
MARKS: Final = {SEEN: "you last looked here", EARLIER: "earlier entries were compacted away"}
"""Lines between the entries that are none themselves: their words, with their texts."""


class LogMark(NamedTuple):
    """The mark of a kind: a glyph of its own (or of `format.SIGNS`, `format.LOOKS`), and its style."""

    mark: str
    ink: str = "$muted"


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
_WORDS_OF_FIELDS: Final = {
    "depends_on": "what it waits for",
    "node_ids": "graph nodes",
    "dedicated_context": "where it runs",
    "system_prompt": "system prompt",
}


def mark_of(line: LogLine, *, ascii_only: bool) -> tuple[str, str]:
    """Return the mark of an entry, one cell, and its style; a new status has that status's colour."""
    mark = LOG_MARKS.get(line.word, LogMark("log"))
    ink = look(str(line.new.get("status"))).color if line.word == "status" else mark.ink
    if len(mark.mark) == 1:
        return mark.mark, ink
    if mark.mark in ("needs_you", "failed", "stuck"):
        return look(mark.mark).mark(ascii_only=ascii_only), ink
    return sign(mark.mark, ascii_only=ascii_only), ink


def who_of(line: LogLine) -> str:
    """Return the name of the actor."""
    return "scheduler" if line.actor == vocab.SYSTEM and line.job is not None else agent_text.who(line.actor)


def text_of(line: LogLine, *, ascii_only: bool = False) -> str:
    """Return what happened in one phrase; it includes texts of agents unchanged, long ones cut."""
    text = _text(line, "->" if ascii_only else "→")
    if line.undoes is None:
        return text
    return f"{'redo' if line.is_redo else 'undo'}: {text}"


def names_task(line: LogLine) -> bool:
    """Return whether the task's name is shown before the text: the entry is about a task, and does not name it."""
    says_it = line.word in ("new", "delete", "back")
    return line.task is not None and bool(line.name) and not says_it


def name_and_text(line: LogLine, *, ascii_only: bool = False) -> tuple[str, str]:
    """Return the name of the task or job that an entry is about, and what happened without it."""
    if line.entity in ("run", "job") and line.undoes is None and (said := _said_of_job(line)):
        return line.name or "job", said
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
        return str(new.get("message", ""))
    if line.word in ("new", "delete", "back"):
        return f"list {name}" if line.entity == "list" else str(new.get("name") or name)
    if line.word in ("edit", "link"):
        return _edit(line, arrow)
    return _of_people(line)


_PLAIN: Final = {
    "message.delivered": "has been given your message",
    "message.returned": "has not got your message, which waits again",
    "state.saved": "its state to resume from",
    "memory.saved": "its result, as a memory",
}
"""The texts of entries that say no more."""


def _of_people(line: LogLine) -> str:
    """Return the text of a question, a message, a claim, or another entry that is not about a task or job itself."""
    new = line.new
    if line.kind in ("message", "message.sent"):
        return f"to {new.get('to') or new.get('agent')}: {new.get('text')}"
    if line.word == "close":
        why = "no answer in time" if line.kind == "ask.timeout" else new.get("reason") or "withdrawn"
        return f"{why}: {line.asked or 'a question'}"
    if line.kind.startswith("ask."):
        return str(new.get("question") or new.get("answer") or "a question")
    if line.word == "review":
        reason = f": {new['decline_reason']}" if new.get("decline_reason") else ""
        return f"{line.kind.partition('.')[2]}{reason}"
    if line.kind.startswith("check."):
        return _of_check(line)
    if line.kind == "tool.failed":
        return f"{new.get('tool')} failed: {new.get('error')}"
    if line.kind == "session.failed":
        return f"its turn failed: {new.get('last_message')}" if new.get("last_message") else "its turn failed"
    if line.kind == "session.prompted" and new.get("last_prompt"):
        return f"asked for: {new['last_prompt']}"
    if line.kind == "session.idle" and new.get("last_message"):
        return f"says: {new['last_message']}"
    if line.word == "stuck":
        return f"{line.uid} {new.get('text') or 'works again'}"
    if line.kind.startswith("agent."):
        words = (str(new[part]) for part in ("tool", "message") if new.get(part))
        return ": ".join([line.uid, *words] if line.word in ("pause", "resume") else words)
    if line.word == "terminal":
        return f"{new.get('command')} at {new.get('terminal')} < {' < '.join(map(str, new.get('parents') or ()))}"
    if line.word == "settings":
        return f"the settings in {new['source']} apply" if "source" in new else "which lists and jobs need acceptance"
    if line.kind == "claim.taken":
        return f"claimed for {duration(int(new.get('lease') or 0))}"
    if line.holder is not None:
        return f"claim of {agent_text.who(line.holder)} {line.kind.partition('.')[2]}"
    if line.kind == "task.moved":
        return "moved to this list" if "list_id" in new else "moved in the list"
    if line.kind == "journal.compacted":
        return f"earlier entries, up to {new.get('last'):,}, were compacted away"
    return _PLAIN.get(line.kind, line.kind.replace(".", " ").replace("_", " "))


def _of_check(line: LogLine) -> str:
    new = line.new
    if line.kind == "check.finished":
        return f'check "{new.get("name")}": {new.get("state")}'
    if line.kind == "check.waived":
        return f"set done though {', '.join(new.get('names') or ())} had not passed"
    if line.kind == "check.defined":
        name = new.get("name") or "a check"
        return f"the configuration names {name} no more" if new.get("deleted") else f"the configuration sets {name}"
    return {"check.requested": "asks for its checks"}.get(line.kind, "an input of a passed check has changed")


def _edit(line: LogLine, arrow: str) -> str:
    """Return which fields were changed, with short values."""
    if line.entity == "log":
        return "a log entry undone" if line.new.get("deleted") else "a log entry restored"
    parts = []
    for field, value in line.new.items():
        was = line.old.get(field)
        if field in ("list_id", "rank", "deleted"):
            continue
        if field == "name":
            parts.append(f"was called {was}")
        elif field == "one_in_progress":
            parts.append("one task at a time for each agent" if value else "any number of tasks at a time")
        elif field == "review":
            parts.append("new tasks of agents wait for you" if value else "new tasks of agents need no acceptance")
        elif field == "held":
            parts.append("waits for you again")
        elif field == "archived":
            parts.append("archived" if value else "brought back from the archive")
        elif field in ("priority", "agent", "domain"):
            parts.append(f"{field} {_word(field, was)} {arrow} {_word(field, value)}")
        else:
            parts.append(_WORDS_OF_FIELDS.get(field, field))
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
        if new.get("outcome") == "success":
            return f"ok{took}"
        return str(line.reason or new.get("reason") or new.get("outcome"))
    if line.kind == "job.decided":
        times = len(new.get("times") or ())
        reason = f": {new['reason']}" if new.get("reason") else ""
        return f"{times} due time{'' if times == 1 else 's'} {new.get('decision')}{reason}"
    if line.kind in ("run.started", "run.requested"):
        return line.kind.partition(".")[2]
    if line.kind == "job.updated":
        if set(new) == {"enabled"}:
            return f"switched {'on' if new['enabled'] else 'off'}"
        return ", ".join(_WORDS_OF_FIELDS.get(field, field) for field in new if field != "name_key")
    return ""
