"""What the human can do to an agent through its program's hooks, and why some actions are impossible."""

from __future__ import annotations

from typing import Final

# The reason why an action is impossible, by program and action.
_CANNOT: Final[dict[str, dict[str, str]]] = {
    "claude": {},
    "codex": {
        "always": "Codex takes no rule from a hook: allow it always in its own window.",
        "edit_input": "Codex takes no edited input from a hook: deny it, and say what it should run.",
        "question": "Codex's questions are answered in its own window.",
        "stop": "Codex's turn goes on; its next tool is refused, and it is told to stop.",
    },
    "gemini": {
        "permission": "Gemini CLI takes no allowance from a hook: answer in its own window.",
        "always": "Gemini CLI takes no rule from a hook: allow it always in its own window.",
        "edit_input": "Gemini CLI takes no edited input from a hook.",
    },
    "opencode": {
        "edit_input": "opencode takes no edited input: deny it, and say what it should run.",
    },
}


def why_not(program: str, ability: str) -> str | None:
    """Return why an action on an agent of a program is impossible; None if it is possible."""
    return _CANNOT.get(program, {}).get(ability)
