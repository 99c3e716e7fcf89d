"""Texts about questions and agents that several screens use. Pure, except for reads of a given database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tui_tasks.core import names, vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.rules.agents.ask_rules import unseen
from tui_tasks.core.rules.agents.request_text import ask_lines, decided_lines
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.safe import LINE_CHARS, safe_line
from tui_tasks.text.times import SECOND, ago


def who(name: str, limit_cells: int | None = None) -> str:
    """Return an actor's name for people: "you" is the human alone; others as `names.shown` has them."""
    return "you" if name == vocab.HUMAN else names.shown(name, limit_cells)


_YES: Final = frozenset(
    {"approve", "approved", "yes", "y", "ok", "okay", "allow", "accept", "confirm", "proceed", "go"}
)
_NO: Final = frozenset(
    {"deny", "denied", "no", "n", "reject", "refuse", "disallow", "decline", "cancel", "abort", "stop"}
)


def _first_word(option: str) -> str:
    words = option.casefold().split()
    return words[0].strip(".,:;!?") if words else ""


def _only(options: Sequence[str], words: frozenset[str], otherwise: str) -> str | None:
    """Return the only option that begins with one of the words, or is one; `otherwise` when there are no options."""
    if not options:
        return otherwise
    matches = [option for option in options if _first_word(option) in words]
    if len(matches) > 1:
        matches = [option for option in matches if option.casefold() in words]
    return matches[0] if len(matches) == 1 else None


def approving(options: Sequence[str]) -> str | None:
    """Return the answer that approves: an option that says yes; `approve` without options; None where it is ambiguous.

    The options that begin with a word of consent count, of several only the one that is such a word.
    """
    return _only(options, _YES, "approve")


def denying(options: Sequence[str]) -> str | None:
    """Return the answer that denies: an option that says no; `deny` without options; None when it is ambiguous."""
    return _only(options, _NO, "deny")


def why_not_always(ask: Ask, found: Sequence[str]) -> str:
    """Return why nothing can be allowed from now on, where there is not exactly one option for it."""
    from tui_tasks.hooks.replies import outbox

    program = (ask.request or {}).get("program")
    if program is not None and (why := outbox.why_not(program, "always")) is not None:
        return why
    if found:
        return "There are several ways to allow it always: choose one by its number."
    return "Its program suggests nothing to allow always."


def has_no_unseen(ask: Ask) -> bool:
    """Return whether a question and its options have no invisible characters."""
    return all(unseen(text) is None for text in (ask.question, *ask.options))


def ask_state(ask: Ask) -> str:
    """Return the name in `format.LOOKS` of a question's state."""
    return {"open": "needs_you", "answered": "done"}.get(ask.state, "skipped")


def ask_word(ask: Ask) -> str:
    """Return the state of a closed question as a word."""
    return "too late" if ask.state == "timeout" else ask.state


def closed(ask: Ask, now: int) -> str:
    """Return what became of a closed question."""
    when = ""
    if ask.answered_at is not None:
        when = f" {ago(ask.answered_at, now)}" if now - ask.answered_at >= SECOND else " just now"
    if ask.state == "answered":
        edited = ", with the input as you edited it" if (ask.request or {}).get("updated_input") is not None else ""
        answer = "; ".join((ask.answer or "").split("\n"))
        by_rule = f", by rule: {safe_line(ask.rule, 60)}" if ask.rule else ""
        return f'answered{when}: "{safe_line(answer, 60)}"{edited}{by_rule}'
    if ask.state == "timeout":
        return f"no answer in time; {who(ask.agent, 20)} went on{when}"
    if ask.reason:
        return f"{who(ask.agent, 20)}{when}: {safe_line(ask.reason, 120)}"
    return f"{who(ask.agent, 20)} has withdrawn the question{when}"


def live_task(db: Database, uid: str) -> TaskLine | None:
    """Return the task with a uid; None when it is deleted."""
    task = list_pages.line(db, uid)
    return None if task is None or task.deleted else task


def request_line(ask: Ask, *, ascii_only: bool = False) -> str:
    """Return in one line what an agent waits for: the tool and its command, or the question.

    It is written out as where the human decides about it, at most the beginning that a line shows.
    """
    request = ask.request or {}
    if request.get("kind") != "permission" or not request.get("tool"):
        return " ".join(ask_lines(_beginning(ask), ascii_only=ascii_only))
    text = f"{request['tool']}: {_gist(request.get('input'))}"[:LINE_CHARS]
    return " ".join(decided_lines(text, ascii_only=ascii_only))


def _beginning(ask: Ask) -> Ask:
    if len(ask.question) <= LINE_CHARS:
        return ask
    return msgspec.structs.replace(ask, question=ask.question[:LINE_CHARS])


def _gist(given: Any) -> str:
    """Return the most telling value of a tool's input."""
    if not isinstance(given, dict):
        return given if isinstance(given, str) else ""
    value = next((given[key] for key in ("command", "file_path", "path", "url", "pattern") if key in given), None)
    if value is None:
        value = next(iter(given.values()), "")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
