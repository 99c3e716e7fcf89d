"""Texts about questions and agents that several screens use. Pure, except for reads of a given database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tui_tasks.core import names, vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.rules.agents.asks import unseen
from tui_tasks.core.rules.agents.request_text import ALWAYS
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.safe import TEXT_CHARS, safe_line
from tui_tasks.text.times import SECOND, ago


def who(name: str) -> str:
    """Return an actor's name for people: "you" is the human alone; another name that reads like it is quoted."""
    if name == vocab.HUMAN:
        return "you"
    return f'"{name}"' if names.reserved(name) == vocab.HUMAN else name


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
    found = [option for option in options if _first_word(option) in words]
    if len(found) > 1:
        found = [option for option in found if option.casefold() in words]
    return found[0] if len(found) == 1 else None


def approving(options: Sequence[str]) -> str | None:
    """Return the answer that approves: an option that says yes; `approve` without options; None where it is ambiguous.

    The options that begin with a word of consent count, of several only the one that is such a word.
    """
    return _only(options, _YES, "approve")


def denying(options: Sequence[str]) -> str | None:
    """Return the answer that denies: an option that says no; `deny` without options; None when it is ambiguous."""
    return _only(options, _NO, "deny")


def allowing_always(ask: Ask) -> list[str]:
    """Return the options that allow from now on what a program suggests to allow."""
    if (ask.request or {}).get("kind") != "permission":
        return []
    return [option for option in ask.options if option.startswith(f"{ALWAYS}: ")]


def why_not_always(ask: Ask, found: Sequence[str]) -> str:
    """Return why nothing can be allowed from now on, where there is not exactly one option for it."""
    from tui_tasks.hooks import abilities

    program = (ask.request or {}).get("program")
    if program is not None and (why := abilities.why_not(program, "always")) is not None:
        return why
    if found:
        return "There are several ways to allow it always: choose one by its number."
    return "Its program suggests nothing to allow always."


def is_shown_whole(ask: Ask) -> bool:
    """Return whether a screen shows all of a question: it is not cut and has no invisible characters."""
    texts = (ask.question, *ask.options)
    return all(len(text) <= TEXT_CHARS and unseen(text) is None for text in texts)


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
        return f'answered{when}: "{safe_line(ask.answer or "", 60)}"'
    if ask.state == "timeout":
        return f"nobody answered in time; {safe_line(ask.agent, 20)} went on{when}"
    if ask.reason:
        return f"{safe_line(ask.agent, 20)}{when}: {safe_line(ask.reason, 120)}"
    return f"{safe_line(ask.agent, 20)} has withdrawn the question{when}"


def live_task(db: Database, uid: str) -> TaskLine | None:
    """Return the task with a uid; None when it is deleted."""
    task = pages.line(db, uid)
    return None if task is None or task.deleted else task


def request_line(ask: Ask) -> str:
    """Return in one line what an agent waits for: the tool and its command, or the question."""
    request = ask.request or {}
    if request.get("kind") != "permission" or not request.get("tool"):
        return ask.question
    return f"{request['tool']}: {_gist(request.get('input'))}"


def _gist(given: Any) -> str:
    """Return the most telling value of a tool's input."""
    if not isinstance(given, dict):
        return given if isinstance(given, str) else ""
    found = next((given[key] for key in ("command", "file_path", "path", "url", "pattern") if key in given), None)
    if found is None:
        found = next(iter(given.values()), "")
    return " ".join(map(str, found)) if isinstance(found, list) else str(found)
