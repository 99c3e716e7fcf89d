"""Converts the human's answer on a program's request to the decision for its hook (docs: protocol, section 10).

Only the option that says so allows; any other answer denies, with its text. The hook takes the request and suggestions
from its own payload, as the stored copy may be shortened.
"""

from __future__ import annotations

from typing import Any

from tui_tasks.core.rules.agents.asks import option_text
from tui_tasks.core.rules.agents.request_text import ALLOW, DENY, always_text
from tui_tasks.core.snapshots import Ask
from tui_tasks.hooks import hooks_folder
from tui_tasks.hooks.folder import Folder
from tui_tasks.hooks.replies import answer_file

Decision = dict[str, Any]


def decision(ask: Ask) -> Decision | None:
    """Return the human's decision on a request (see `answer_forms.formed`); None when there is none."""
    request, answer = ask.request or {}, ask.answer
    if answer is None:
        return None
    if request.get("kind") == "question":
        lines = [line.strip() for line in answer.splitlines() if line.strip()]
        return {"answer": answer, "lines": lines}
    suggestions = request.get("suggestions")
    suggestions = suggestions if isinstance(suggestions, list) else []
    chosen = [at for at, one in enumerate(suggestions) if answer == option_text(always_text(one))]
    if answer != ALLOW and not chosen:
        words = answer.removeprefix(DENY).removeprefix(":").strip() if answer.startswith(DENY) else answer
        return {"allow": False, "words": words}
    # If two suggestions read alike, it is unknown which was meant, so it is allowed only this once.
    always = chosen[0] if len(chosen) == 1 else None
    return {"allow": True, "always": always, "updated_input": request.get("updated_input")}


def why_unanswerable(database: str, ask: Ask) -> str | None:
    """Return why the human cannot answer a program's request here; None when its hook waits for an answer."""
    request = ask.request
    if request is None:
        return None
    name = request.get("answer")
    try:
        with Folder(hooks_folder(database), make=False) as folder:
            if isinstance(name, str) and name in answer_file.waiting(folder):
                return None
    except OSError:
        pass
    return f"{ask.agent} asks in its own window, and waits for no answer from here."
