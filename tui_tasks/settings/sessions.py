"""The human's settings for sessions of agent programs (`[sessions]`; docs: protocol, section 10)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

WaitSeconds = Annotated[int, Meta(ge=0, le=3600)]
Program = Literal["claude", "codex", "gemini", "opencode"]

# The terminals of Codex and Gemini CLI are blocked while a hook waits.
DEFAULT_WAITS: Final[dict[Program, int]] = {"claude": 50, "codex": 0, "gemini": 0, "opencode": 50}


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[sessions]`.

    Attributes:
        wait: for how many seconds a hook waits for the human's answer: one number, or one for each program.
        tasks: whether each prompt becomes a task, and a program's own list of tasks stands below it.
        keep: what is kept of what is said and given to tools: all of it, its first lines, or nothing.
        redact: regular expressions; what they match is not kept. They come beside those for common keys and tokens.
    """

    wait: WaitSeconds | dict[Program, WaitSeconds] = msgspec.field(default_factory=DEFAULT_WAITS.copy)
    tasks: bool = True
    keep: Literal["all", "titles", "none"] = "all"
    redact: tuple[str, ...] = ()

    def waits(self) -> dict[str, int]:
        """Return for how many seconds a hook of each program waits."""
        if isinstance(self.wait, int):
            return dict.fromkeys(DEFAULT_WAITS, self.wait)
        return {program: self.wait.get(program, default) for program, default in DEFAULT_WAITS.items()}
