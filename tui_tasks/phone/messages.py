"""The messages to the phone, and the answers that each offers. Pure functions.

An answer is offered only if the phone shows all that a person must read; else the question is answered on the screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tui_tasks.core import names
from tui_tasks.core.read.overview import Alert
from tui_tasks.core.rules.agents.ask_rules import unseen
from tui_tasks.core.rules.agents.request_text import ALLOW, DENY, ask_lines, ask_options, is_kept_whole
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.safe import safe_line, safe_text
from tui_tasks.text.times import count

MAX_ACTIONS: Final = 3
"""The limit of an ntfy server."""
# A server accepts 4,096 bytes of a whole message.
MAX_TEXT_BYTES: Final = 3_000
_LABEL_CHARS: Final = 40
_NAME_CHARS: Final = 60
_HIGH, _DEFAULT = 4, 3
_ON_SCREEN_NOTE: Final = "Answer it on the screen."


def answers(ask: Ask, *, titles: bool) -> tuple[str, ...]:
    """Return the answers that are offered, as on the screen; at most three."""
    is_permission = (ask.request or {}).get("kind") == "permission"
    is_whole = titles and _is_whole(ask)
    if is_permission:
        wanted: Sequence[str] = (ALLOW, DENY) if is_whole else (DENY,)
        return tuple(answer for answer in wanted if answer in ask.options)
    if not is_whole or (ask.request is not None and not ask.options):
        return ()
    return (ask.options or ("approve", "deny"))[:MAX_ACTIONS]


def _is_whole(ask: Ask) -> bool:
    """Return whether the phone shows all of a question and of the offered answers."""
    if not is_kept_whole(ask) or any(unseen(text) is not None for text in (ask.question, *ask.options)):
        return False
    offered = ask.options[:MAX_ACTIONS] if (ask.request or {}).get("kind") != "permission" else ()
    fits = all(safe_line(option, _LABEL_CHARS) == option for option in (*offered, *ask_options(ask, offered)))
    return len(_text(ask).encode()) <= MAX_TEXT_BYTES and fits


def _text(ask: Ask) -> str:
    return "\n".join(ask_lines(ask))


def of_ask(ask: Ask, project: str, nonces: Mapping[str, str], reply_address: str, *, titles: bool) -> dict[str, Any]:
    """Return the message for a question; `nonces` are the nonces of the offered answers, by answer."""
    who = names.shown(ask.agent, _NAME_CHARS) + (f" ({safe_line(project, _NAME_CHARS)})" if project and titles else "")
    what = "wants a permission" if (ask.request or {}).get("kind") == "permission" else "asks"
    text = safe_text(_text(ask), MAX_TEXT_BYTES).encode()[:MAX_TEXT_BYTES].decode(errors="ignore") if titles else ""
    more = len(ask.options) > len(nonces) and (ask.request or {}).get("kind") != "permission"
    parts = [text] if text else []
    parts += [_ON_SCREEN_NOTE] if not nonces or more else []
    message: dict[str, Any] = {"title": f"{who} {what}", "message": "\n\n".join(parts) or what, "priority": _HIGH}
    if nonces:
        message["actions"] = [
            {
                "action": "http",
                "label": safe_line(ask_options(ask, [answer])[0], _LABEL_CHARS),
                "url": reply_address,
                "method": "POST",
                "body": nonce,
                "clear": True,
            }
            for answer, nonce in nonces.items()
        ]
    return message


def of_failures(found: Sequence[Alert], *, titles: bool) -> dict[str, Any]:
    """Return the message for what failed."""
    text = count(len(found), "failure")
    names = [safe_line(alert.text, _NAME_CHARS) for alert in found[:5]] if titles else []
    more = [f"and {len(found) - 5} more"] if titles and len(found) > 5 else []
    return {"title": f"tui-tasks: {text}", "message": "\n".join((*names, *more)) or text, "priority": _DEFAULT}


def too_late(ask: Ask | None, *, titles: bool) -> dict[str, Any]:
    """Return the message for an answer that was not accepted."""
    who = names.shown(ask.agent, _NAME_CHARS) if ask is not None else "an agent"
    question = f"\n{safe_line(ask.question, 200)}" if ask is not None and titles else ""
    return {"title": "Too late", "message": f"Your answer to {who} was not taken.{question}", "priority": _DEFAULT}
