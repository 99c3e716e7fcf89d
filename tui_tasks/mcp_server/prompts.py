"""Prompts that a person may pick in a client's menu."""

from __future__ import annotations

from typing import Final, NamedTuple

import mcp_types as types
from mcp.shared.exceptions import MCPError


class _Prompt(NamedTuple):
    title: str
    description: str
    text: str


_PROMPTS: Final = {
    "next": _Prompt(
        "What to do next",
        "Look at the lists, and take up the next task.",
        "Look at the open tasks of the task list that we share. Tell me in a few lines what is in progress, what is "
        "blocked and by what, and what comes next. Then take up the next task that is nobody else's: set it in "
        "progress, or claim it where several agents work, and begin. Ask me where the decision is mine.",
    ),
    "hand_over": _Prompt(
        "Hand over",
        "Leave everything so that another can go on.",
        "You are about to hand your work over. For each task that you have in progress: log what was done, what is "
        "left and what you found out, save its state where the tools can, and set it back to pending or release your "
        "claim, unless it is done. Then tell me in a few lines where whoever comes next is to begin.",
    ),
    "retrospective": _Prompt(
        "Retrospective",
        "Look back on what was done, and what is to be learnt of it.",
        "Look at the history of the task lists. Tell me what was done and by whom, what failed or was skipped and why, "
        "what took long or was done twice, and what was undone. Propose at most three changes to how we work, and add "
        "a task for each that I agree to.",
    ),
}


def all_prompts() -> list[types.Prompt]:
    """Return all prompts."""
    return [
        types.Prompt(name=name, title=prompt.title, description=prompt.description) for name, prompt in _PROMPTS.items()
    ]


def get(name: str) -> types.GetPromptResult:
    """Return a prompt, as a message of the person.

    Raises:
        MCPError: there is none of that name.
    """
    prompt = _PROMPTS.get(name)
    if prompt is None:
        raise MCPError(code=types.INVALID_PARAMS, message=f"no prompt {name[:100]}; there is {', '.join(_PROMPTS)}")
    said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=prompt.text))
    return types.GetPromptResult(description=prompt.description, messages=[said])
