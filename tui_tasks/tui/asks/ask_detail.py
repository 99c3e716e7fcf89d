"""One question in full: what is asked, the possible answers, and what happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.agent_snapshots import Agent, Ask
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.agents import last_words
from tui_tasks.core.read.agents.last_words import Word
from tui_tasks.core.read.agents.session_queries import asked_for
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.rules.agents.request_text import MAX_OPTIONS
from tui_tasks.core.unhidden_text import unhidden_line
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.ask_views import AskedTask, AskedTasks, AskView
from tui_tasks.tui.asks.request_lines import request_lines, unhidden_block
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, block, wrapped
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.tui.inbox.inbox_lines import FoldedAsks

_SMALL: Final = 60
# In cells: the most of a tool's name.
_TOOL: Final = 60
_MAX_FOLDED: Final = 20
_NEWS: Final = ("logged", "status")
# The most words of an agent that are shown, and how many of its entries are searched for them.
_MAX_WORDS: Final = 8
_LOOKED_AT: Final = 32
# The empty line and the title above them: less than that and one of them is left out.
_LEAST_LATELY: Final = 2
_NOT_WHOLE: Final = "Part of this is not shown: it can be denied, or answered in your own words."


def folded_lines(folded: FoldedAsks, room: int, *, ascii_only: bool) -> list[Drawn]:
    """Return the first of several questions of an agent, each in a line."""
    asked = (ask_text.request_line(ask, ascii_only=ascii_only) for ask in folded.asks[:_MAX_FOLDED])
    return [[(f"   {safe_line(line, room - 3)}", "")] for line in asked]


class AskDetail(TextDrawing):
    """Draws a question; its options can be clicked."""

    def __init__(self, context: Context, tasks: AskedTasks, on_screen: Callable[[], int]) -> None:
        """`on_screen` returns how many lines can be seen without scrolling; 0 while that is not known."""
        super().__init__(context)
        self._tasks = tasks
        self._on_screen = on_screen
        self._view: AskView | None = None
        # The lines of what it asks, by their width: a megabyte is drawn several times for a key.
        self._request: dict[int, list[Drawn]] = {}
        self._about: AskedTask | None = None
        self._working: TaskLine | None = None
        # Whether the agent has done something since it asked.
        self._goes_on = self._waits = False
        self._agent: Agent | None = None
        self._words: Sequence[Word] = ()
        self._draft = False
        # Returns the lines of what is no question, for a width in cells.
        self._other: Callable[[int], list[Drawn]] | None = None
        # The uid of the task that the row is about.
        self._task: str | None = None
        # The number of lines to the end of the options.
        self._end = 0

    def put(
        self,
        view: AskView | None,
        *,
        other: Callable[[int], list[Drawn]] | None,
        task: str | None,
        draft: bool,
    ) -> None:
        """Set the question to draw, and whether an answer to it is begun; else what returns the lines of a row that is
        no question; and the uid of the task that it is about.
        """
        db, ask = self.context.db, view.ask if view is not None else None
        if view != self._view:
            self._request = {}
        self._view, self._other, self._task, self._draft, self._end = view, other, task, draft, 0
        self._about = self._tasks.of(ask) if ask is not None else None
        members = self.context.state.members if ask is not None else ()
        member = next((one for one in members if ask is not None and one.name == ask.agent), None)
        self._working, self._goes_on = (member.task, member.goes_on) if member is not None else (None, False)
        self._waits = member is not None and member.state == "waiting"
        self._agent = message_queries.agent(db, ask.agent) if ask is not None else None
        self._words = last_words.words(db, ask.agent, _LOOKED_AT) if ask is not None else []

    def ends_by(self, version: object, end: int) -> bool:
        """Return whether a question is shown to the end of its options by the line before `end`."""
        return self._view is not None and self._view.version == version and 0 < self._end <= end

    def line_of_option(self, number: int) -> int | None:
        """Return the line on which an option begins; None if it is not drawn."""
        return next((spot.line for spot in self.spots if spot.action == f"ask_{number}"), None)

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines of the question, to what happens meanwhile; the rule above has who asks, and about what."""
        view, most, room = self._view, self._on_screen(), max(10, width - 2)
        if self._other is not None:
            return self._with_more(self._other(room), self._log(room))
        if view is None:
            return []
        is_open = view.ask.state == "open" and view.why_closed is None
        lately = self._lately(view.ask, room) if is_open else []
        lines = self._of_ask(view, width, room, [[]])
        if len(lines) + len(lately) > most > 0:
            self.spots.clear()
            lines = self._of_ask(view, width, room, [])
        return self._with_more(self._with_more(lines, lately), self._description(room) if is_open else [])

    def _with_more(self, lines: list[Drawn], more: list[Drawn]) -> list[Drawn]:
        """Return lines with those of what else there is to know that can be seen without scrolling."""
        most = self._on_screen()
        shown = more[: max(0, most - len(lines))] if most > 0 else more
        return lines + shown if len(shown) > _LEAST_LATELY or len(shown) == len(more) else lines

    def _log(self, room: int) -> list[Drawn]:
        """Return the newest entries of the log of the task that the row is about."""
        lines: list[Drawn] = []
        for entry in task_records.newest_log(self.context.db, self._task, _MAX_WORDS) if self._task else ():
            when = f"   {self.context.clock.time_of(entry.at)}  "
            said = f"{agent_text.who(entry.agent, 20)}: {entry.message}"
            lines.append([(when, "$muted"), (safe_line(said, max(8, room - cell_len(when))), "")])
        return [[], [(" Log  newest first", "$muted")], *lines] if lines else []

    def _description(self, room: int) -> list[Drawn]:
        """Return the beginning of the description of the task that the question is about, else of its agent's task."""
        for uid in filter(None, (self._task, self._working.uid if self._working is not None else None)):
            task = task_queries.any_task(self.context.db, uid)
            if task is not None and task.description:
                head = safe_line(f"#{task.id} {task.name}", room)
                return [[], [(f" {head}", "$muted")], *block(task.description, room - 2, indent=3)[:_MAX_WORDS]]
        return []

    def _of_ask(self, view: AskView, width: int, room: int, gap: list[Drawn]) -> list[Drawn]:
        """Return the lines of a question; `gap` is what stands between two parts of it."""
        ask, small = view.ask, width < _SMALL
        lines: list[Drawn] = []
        if not small:
            lines += self._decided(self._asks_for(ask), room) if ask.request is not None else []
        elif self._about is not None:
            lines.append([(f" {safe_line(f'#{self._about.number} {self._about.name}', room)}", "$muted")])
        if room not in self._request:
            self._request[room] = request_lines(view, room, ascii_only=self.context.ascii_only)
        # The line above names the tool, too.
        lines += self._request[room][1 if not small and self._names_tool(view, room) else 0 :]
        if ask.request is not None and small and ask.request.get("cwd"):
            lines += self._decided(f"in {self._named(ask.request['cwd'])}", room)
        lines += gap
        if ask.state != "open":
            return lines + block(ask_text.closed(ask, self.context.clock.now()), room, "$changed bold")
        if view.why_closed is not None:
            lines += block(view.why_closed, room, "$state-needs-you")
            self._end = len(lines)
            return lines
        if not view.is_whole:
            lines += [*block(_NOT_WHOLE, room, "$state-needs-you"), *gap]
        options, end = self._options(view, len(lines), width, small)
        self._end = len(lines) + end
        lines += options
        changed = block(self._about.change, room, "$changed") if self._about is not None and self._about.change else []
        meanwhile = self._meanwhile(ask, small=small)
        notes = [*changed, *(block(meanwhile, room, "$muted") if meanwhile else [])]
        return [*lines, *gap, *notes] if notes else lines

    def _lately(self, ask: Ask, room: int) -> list[Drawn]:
        """Return what the agent was asked for, and what it has said and done, newest first."""
        lines: list[Drawn] = []
        member = next((one for one in self.context.state.members if one.name == ask.agent), None)
        if prompt := asked_for(member.session if member is not None else None):
            lines.append([("   asked for  ", "$muted"), (safe_line(prompt, max(8, room - 13)), "")])
        news = [word for word in self._words if word.kind in _NEWS and agent_text.latest_words(word)]
        for word in news[:_MAX_WORDS]:
            task = agent_text.live_task(self.context.db, word.task) if word.task else None
            when = f"   {self.context.clock.time_of(word.at)}  {f'#{task.number}  ' if task is not None else ''}"
            said = safe_line(agent_text.latest_words(word), max(8, room - cell_len(when)))
            lines.append([(when, "$muted"), (said, "")])
        return [[], [(f" {agent_text.who(ask.agent, 40)} lately", "$muted")], *lines] if lines else []

    def _decided(self, text: str, room: int) -> list[Drawn]:
        return unhidden_block(text, room, ascii_only=self.context.ascii_only, style="$muted")

    def _named(self, text: Any) -> str:
        return unhidden_line(str(text), ascii_only=self.context.ascii_only)

    def _asks_for(self, ask: Ask) -> str:
        """Return who asks for a permission or asks in a program's own way, and where."""
        request = ask.request or {}
        place = f" in {safe_line(self._named(request['cwd']), 200)}" if request.get("cwd") else ""
        tool = safe_line(self._named(request["tool"]), _TOOL) if self._is_of_tool(request) else ""
        what = f"wants to use {tool}" if tool else "asks"
        return f"{agent_text.who(ask.agent, 40)} {what}{place}:"

    @staticmethod
    def _is_of_tool(request: dict[str, Any]) -> bool:
        return request.get("kind") == "permission" and bool(request.get("tool"))

    def _names_tool(self, view: AskView, room: int) -> bool:
        """Return whether `_asks_for` has all of the first line of a permission, `Allow Bash?`."""
        request = view.ask.request or {}
        tool = self._named(request["tool"]) if view.is_permission and self._is_of_tool(request) else ""
        return bool(tool) and safe_line(tool, _TOOL) == tool and cell_len(f"Allow {tool}?") < room

    def _choices(self, view: AskView) -> list[tuple[str, str, str]]:
        """Return key, text and action of each option, and of the other ways to answer."""
        key_of = self.context.keymap.key_of
        options: Sequence[str] = view.shown_options(self.context)
        rest = [(key_of("ask_reply"), "reply…" if not self._draft else "reply… (begun)", "ask_reply")]
        if not view.options and view.approving is not None:
            words = {"ask_approve": "approve", "ask_no": "deny", "ask_deny": "deny + reason"}
            rest = [*((key_of(action), word, action) for action, word in words.items()), *rest]
        if view.takes_several:
            marks = [look("done" if at in view.picked else "pending") for at in range(len(options))]
            both = zip(marks, options, strict=True)
            options = [f"{mark.mark(ascii_only=self.context.ascii_only)} {text}" for mark, text in both]
            keys = "/".join(map(key_of, ("ask_open", "ask_approve")))
            send = (keys, f"send {len(view.picked)} chosen", "ask_approve")
            rest = [send, *rest] if view.picked else rest
        return [self._choice(number, text) for number, text in enumerate(options, 1)] + rest

    def _options(self, view: AskView, at: int, width: int, small: bool) -> tuple[list[Drawn], int]:
        """Return the lines of the keys that answer, and how many are above a reply that is alone on its line."""
        choices = self._choices(view)
        lines: list[Drawn] = []
        before_reply = 0
        indent, column = " " if small else "   ", width
        # A text with such spaces could look like two options.
        is_plain = not small and not any("  " in text for _, text, _ in choices)
        widths = [cell_len(key) + 1 + cell_len(safe_line(text)) + 3 for key, text, _ in choices]
        # The options are on one line, or each on its own; of a permission always, where one allows from now on.
        is_plain = is_plain and (bool(view.always) or sum(widths) <= width)
        for (key, text, action), wide in zip(choices, widths, strict=True):
            before_reply = len(lines)
            if view.always:
                column = width
            if is_plain and wide <= width - 3:
                if column + wide - 3 > width:
                    lines.append([(indent, "")])
                    column = len(indent)
                lines[-1] = [*lines[-1], (key, "$key bold"), (f" {safe_line(text)}   ", "")]
                if action:
                    self.spot(at + len(lines) - 1, column, column + wide - 3, action)
                column += wide
                continue
            column = width
            for part, line in enumerate(wrapped(text, max(8, width - len(indent) - 3))):
                if action:
                    self.spot(at + len(lines), 0, width, action)
                lines.append([(indent + (key if part == 0 else " "), "$key bold"), (f" {line}", "")])
        return lines, before_reply

    def _choice(self, number: int, text: str) -> tuple[str, str, str]:
        """Return key, text and action of an option. There are as many keys as a question can have options."""
        if number > MAX_OPTIONS:
            return "-", text, ""
        return self.context.keymap.key_of(f"ask_{number}"), text, f"ask_{number}"

    @property
    def meanwhile(self) -> str:
        """What becomes of the agent until it is answered, in short: `it waits`, `#5 keeps running`; empty if nothing is
        to be said.
        """
        view = self._view
        if view is None or view.ask.state != "open" or view.why_closed is not None:
            return ""
        ask, working = view.ask, self._working
        if ask.request is not None:
            return "it waits"
        is_other = working is not None and (self._about is None or self._about.uid != working.uid)
        if self._is_gone(ask):
            return ""
        if working is None or not is_other:
            return "it waits" if self._waits else ""
        return f"#{working.number} {'keeps running' if ask.expires_at is None or self._goes_on else 'waits'}"

    def _is_gone(self, ask: Ask) -> bool:
        return any(left.agent == ask.agent for left in self.context.state.left.values())

    def _meanwhile(self, ask: Ask, *, small: bool) -> str:
        """Return the rest of it in whole sentences; on a small screen, which has no rule above, all of it."""
        said, who = [], agent_text.who(ask.agent, 20)
        if self._agent is not None and self._agent.paused:
            said.append(f"{who} is paused.")
        if self._working is not None and ask.request is None and self._is_gone(ask):
            said.append(f"#{self._working.number} stands still: {who} is gone.")
        elif small and ask.request is not None and self.meanwhile:
            said.append("It waits.")
        elif small and self.meanwhile.startswith("#"):
            said.append(f"{self.meanwhile} meanwhile.")
        if ask.expires_at is not None:
            now = self.context.clock.now()
            self.lasts(age_lasts(ask.expires_at, now))
            when = age(ask.expires_at, now) if ask.expires_at > now else "any moment"
            said.append(f"{who} goes on without your answer {when}.")
        return " ".join(said)
