"""Words about questions and agents that several screens use. Pure but for the reads they are given a database for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tui_tasks.core import names, vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.tasks import pages
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.rules.agents.asks import unseen
from tui_tasks.core.rules.agents.request_text import ALWAYS
from tui_tasks.core.snapshots import Ask
from tui_tasks.hooks import abilities
from tui_tasks.text.safe import TEXT_CHARS, safe_line
from tui_tasks.text.times import SECOND, ago


def who(name: str) -> str:
    """Who did it, for people: "you" is the human alone, and another name that reads like that stands in quotes."""
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
    """The one option that begins with such a word, or is one; `otherwise` where there are no options at all."""
    if not options:
        return otherwise
    found = [option for option in options if _first_word(option) in words]
    if len(found) > 1:
        found = [option for option in found if option.casefold() in words]
    return found[0] if len(found) == 1 else None


def approving(options: Sequence[str]) -> str | None:
    """The answer that approves: an option that says yes; `approve` where there are none; None where it is not clear."""
    return _only(options, _YES, "approve")


def denying(options: Sequence[str]) -> str | None:
    """The answer that denies: as `approving`."""
    return _only(options, _NO, "deny")


def allowing_always(ask: Ask) -> list[str]:
    """The options that allow what a program suggests to allow from now on."""
    if (ask.request or {}).get("kind") != "permission":
        return []
    return [option for option in ask.options if option.startswith(f"{ALWAYS}: ")]


def why_not_always(ask: Ask, found: Sequence[str]) -> str:
    """Why nothing is allowed from now on where there is not one way to do so."""
    program = (ask.request or {}).get("program")
    if program is not None and (why := abilities.why_not(program, "always")) is not None:
        return why
    if found:
        return "There are several ways to allow it always: choose one by its number."
    return "Its program suggests nothing to allow always."


def is_shown_whole(ask: Ask) -> bool:
    """Whether a screen shows all of a question: it is not cut, and nothing in it is invisible."""
    texts = (ask.question, *ask.options)
    return all(len(text) <= TEXT_CHARS and unseen(text) is None for text in texts)


def ask_state(ask: Ask) -> str:
    """The name in `format.LOOKS` for the state of a question."""
    return {"open": "needs_you", "answered": "done"}.get(ask.state, "skipped")


def ask_word(ask: Ask) -> str:
    """The state of a question that is no longer open, in a word."""
    return "too late" if ask.state == "timeout" else ask.state


def closed(ask: Ask, now: int) -> str:
    """What has become of a question that is no longer open."""
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
    """The task with that uid, where it is not deleted."""
    task = pages.line(db, uid)
    return None if task is None or task.deleted else task


def asked(ask: Ask) -> str:
    """What an agent waits for, in a line: the tool and its command, or the question."""
    request = ask.request or {}
    if request.get("kind") != "permission" or not request.get("tool"):
        return ask.question
    return f"{request['tool']}: {_gist(request.get('input'))}"


def _gist(given: Any) -> str:
    """The one value of a tool's input that says most."""
    if not isinstance(given, dict):
        return given if isinstance(given, str) else ""
    found = next((given[key] for key in ("command", "file_path", "path", "url", "pattern") if key in given), None)
    if found is None:
        found = next(iter(given.values()), "")
    return " ".join(map(str, found)) if isinstance(found, list) else str(found)
