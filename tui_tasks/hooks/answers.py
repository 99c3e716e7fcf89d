"""From the human's answer to a program's request to what its hook prints (docs: protocol, section 10).

Only the option that says so allows; whatever else the human has answered denies, with those words.
"""

from __future__ import annotations

from typing import Any

from tui_tasks.core.rules.asks import option_text
from tui_tasks.core.rules.request_text import ALLOW, DENY, always_text
from tui_tasks.core.snapshots import Ask
from tui_tasks.hooks import answer_file, forms
from tui_tasks.hooks.folder import Folder, path_of


def printed(ask: Ask) -> bytes:
    """What the hook prints for a request that the human has answered; nothing where it takes no such answer."""
    request, answer = ask.request or {}, ask.answer
    if answer is None:
        return b""
    form = _answers(request, answer) if request.get("kind") == "question" else _permission(request, answer)
    return b"" if form is None else forms.encoded(form)


def _permission(request: dict[str, Any], answer: str) -> forms.Form | None:
    program, own_id = request["program"], request.get("id")
    suggestions = request.get("suggestions")
    chosen = [
        one for one in (suggestions if isinstance(suggestions, list) else []) if answer == option_text(always_text(one))
    ]
    if answer != ALLOW and not chosen:
        words = answer.removeprefix(DENY).removeprefix(":").strip() if answer.startswith(DENY) else answer
        return forms.permission(program, own_id, allow=False, words=words)
    return forms.permission(
        program,
        own_id,
        allow=True,
        # Where two suggestions read alike, it is not known which was meant: this once is.
        always=chosen[0] if len(chosen) == 1 else None,
        updated_input=request.get("updated_input"),
    )


def _answers(request: dict[str, Any], answer: str) -> forms.Form | None:
    questions = request.get("questions")
    questions = questions if isinstance(questions, list) else []
    given = [line.strip() for line in answer.splitlines() if line.strip()] if len(questions) > 1 else [answer]
    if len(given) != max(1, len(questions)):
        # Not every question has an answer of its own: the program gets all of it as the answer to each.
        given = [answer] * len(questions)
    return forms.answers(request["program"], request.get("id"), questions, given)


def why_unanswerable(database: str, ask: Ask) -> str | None:
    """Why the human cannot answer a program's request from here; None where its hook waits for that."""
    request = ask.request
    if request is None:
        return None
    name = request.get("answer")
    try:
        with Folder(path_of(database), make=False) as folder:
            if isinstance(name, str) and name in answer_file.waiting(folder):
                return None
    except OSError:
        pass
    return f"{ask.agent} asks in its own window, and waits for no answer from here."
