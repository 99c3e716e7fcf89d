"""One question in full: who asks, about what, the possible answers, and what happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.rules.agents.asks import MAX_OPTIONS
from tui_tasks.core.snapshots import Agent, Ask
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, block, wrapped
from tui_tasks.tui.state.context import Context

_OLD: Final = ("old_string", "old_str")
_NEW: Final = ("new_string", "new_str")
_COLORS: Final = {"-": "$state-failed", "+": "$state-done"}


def request_lines(ask: Ask, width: int) -> list[Drawn]:
    """Return the lines of a question without its options; removed and added text is marked and coloured."""
    request = ask.request or {}
    given = request.get("input")
    if request.get("kind") != "permission" or not isinstance(given, dict):
        return block(ask.question, width)
    old, new = _text_of(given, _OLD), _text_of(given, _NEW)
    if old is None or new is None:
        return [_colored(line) for line in wrapped(ask.question, width)]
    head, _, _ = ask.question.partition("\n")
    others = [f"{name}: {value}" for name, value in given.items() if name not in (*_OLD, *_NEW)]
    lines = [line for text in (head, *others) for line in block(text, width)]
    for sign, text in (("-", old), ("+", new)):
        for line in text.split("\n"):
            lines += [[(f" {sign} {part}", _COLORS[sign])] for part in wrapped(line, max(1, width - 2))]
    return lines


def _text_of(given: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if isinstance(given.get(name), str)), None)


def _colored(line: str) -> Drawn:
    """Return a line of a patch in the colour of what it does."""
    return [(f" {line}", _COLORS.get(line[:1], ""))]


_SMALL = 60


class AskDetail(TextDrawing):
    """Draws a question; its options can be clicked. `is_beside`: whether it stands beside the list of questions."""

    def __init__(self, context: Context, is_beside: Callable[[], bool]) -> None:
        super().__init__(context)
        self._is_beside = is_beside
        self._ask: Ask | None = None
        self._about: TaskLine | None = None
        self._working: TaskLine | None = None
        self._agent: Agent | None = None
        self._draft = False
        # The number of lines to the end of the options.
        self._end = 0

    def put(
        self, ask: Ask | None, about: TaskLine | None, working: TaskLine | None, agent: Agent | None, *, draft: bool
    ) -> None:
        """Set the question to draw: with the task it is about, its agent's task, and whether an answer is begun."""
        self._ask, self._about, self._working, self._agent, self._draft = ask, about, working, agent, draft
        self._end = 0

    def ends_by(self, ask: Ask, end: int) -> bool:
        """Return whether a question is shown to the end of its options by the line before `end`."""
        return self._ask is not None and self._ask.uid == ask.uid and 0 < self._end <= end

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines of the question, from who asks to what happens meanwhile."""
        ask = self._ask
        if ask is None:
            return []
        small, room = width < _SMALL and not self._is_beside(), max(10, width - 2)
        lines: list[Drawn] = []
        if not small:
            lines += block(self._head(ask), room, "$muted")
            lines.append([])
        if ask.request is not None:
            lines += request_lines(ask, room)
            if small and ask.request.get("cwd"):
                lines += block(f"in {ask.request['cwd']}", room, "$muted")
        else:
            question = ask.question if small else f'"{ask.question.strip()}"'
            lines += block(question, room)
        lines.append([])
        if ask.state != "open":
            return lines + block(agent_text.closed(ask, self.context.clock.now()), room, "$changed bold")
        lines += self._options(ask, len(lines), width, small)
        self._end = len(lines)
        meanwhile = self._meanwhile(ask)
        if meanwhile:
            lines.append([])
            lines += block(meanwhile, room, "$muted")
        return lines

    def _titled(self, task: TaskLine) -> str:
        return f"#{self.context.numbers.number(task)} {safe_line(task.name, 60)}"

    def _head(self, ask: Ask) -> str:
        who = safe_line(ask.agent, 40)
        request = ask.request
        if request is not None:
            place = f" in {safe_line(str(request['cwd']), 200)}" if request.get("cwd") else ""
            what = f"wants to use {safe_line(str(request['tool']), 60)}" if self._is_of_tool(request) else "asks"
            return f"{who} {what}{place}:"
        about, working = self._about, self._working
        while_ = f"while working on {self._titled(working)}" if working is not None else ""
        if about is None or (working is not None and working.uid == about.uid):
            return f"{who} asks {while_}".rstrip() + ":"
        return f"{who} asks about {self._titled(about)}{f', {while_}' if while_ else ''}:"

    @staticmethod
    def _is_of_tool(request: dict[str, Any]) -> bool:
        return request.get("kind") == "permission" and bool(request.get("tool"))

    def _options(self, ask: Ask, at: int, width: int, small: bool) -> list[Drawn]:
        reply = self.context.keymap.key_of("ask_reply")
        rest = [(reply, "reply…" if not self._draft else "reply… (begun)", "ask_reply")]
        if not ask.options:
            rest = [
                (self.context.keymap.key_of("ask_approve"), "approve", "ask_approve"),
                (self.context.keymap.key_of("ask_deny"), "deny + reason", "ask_deny"),
                *rest,
            ]
        choices = [self._choice(number, text) for number, text in enumerate(ask.options, 1)] + rest
        widths = [cell_len(key) + 1 + cell_len(safe_line(text)) + 6 for key, text, _ in choices]
        lines: list[Drawn] = []
        if not small and sum(widths) <= width:
            parts: list[Part] = [("   ", "")]
            column = 3
            for (key, text, action), wide in zip(choices, widths, strict=True):
                parts += [(key, "$changed bold"), (f" {safe_line(text)}      ", "")]
                if action:
                    self.spot(at, column, column + wide - 6, action)
                column += wide
            return [parts]
        indent = " " if small else "   "
        for key, text, action in choices:
            for number, line in enumerate(wrapped(text, max(8, width - len(indent) - 3))):
                if action:
                    self.spot(at + len(lines), 0, width, action)
                lines.append([(indent + (key if number == 0 else " "), "$changed bold"), (f" {line}", "")])
        return lines

    def _choice(self, number: int, text: str) -> tuple[str, str, str]:
        """Return key, text and action of an option. There are as many keys as a question can have options."""
        if number > MAX_OPTIONS:
            return "-", text, ""
        return self.context.keymap.key_of(f"ask_{number}"), text, f"ask_{number}"

    def _of_program(self, ask: Ask) -> str:
        """Return where else a program's request can be answered."""
        if (ask.request or {}).get("answer") is None:
            return "It asks in its own window, and waits for no answer from here."
        return "It waits for your answer."

    def _meanwhile(self, ask: Ask) -> str:
        said = []
        if self._agent is not None and self._agent.paused:
            said.append(f"{safe_line(ask.agent, 20)} is paused.")
        if ask.request is not None:
            said.append(self._of_program(ask))
        elif self._working is not None and (self._about is None or self._about.uid != self._working.uid):
            said.append(f"#{self.context.numbers.number(self._working)} keeps running meanwhile.")
        if ask.expires_at is not None:
            now = self.context.clock.now()
            self.lasts(age_lasts(ask.expires_at, now))
            when = age(ask.expires_at, now) if ask.expires_at > now else "any moment"
            said.append(f"Without an answer it goes on {when}.")
        return " ".join(said)
