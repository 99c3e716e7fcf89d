"""The note on the agent under the cursor of Agents: its session, its question, messages to it, and what it said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final

from tui_tasks.core.operations.asks import PAUSED
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.agents import agent_states, last_words, stuck_signs
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.agents.last_words import Word
from tui_tasks.core.read.agents.session_queries import AgentSession, asked_for, process
from tui_tasks.core.read.agents.stuck_causes import Sign
from tui_tasks.core.read.message_queries import Sent
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text import times
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age, age_lasts, duration
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.answer_keys import answer_keys
from tui_tasks.tui.asks.ask_views import AskView
from tui_tasks.tui.asks.request_lines import request_lines
from tui_tasks.tui.painting.line_painter import rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, block, wrapped
from tui_tasks.tui.state.context import Context

# The most failures of an agent that are shown: as many as make one stuck, by default.
_MAX_FAILURES: Final = 3
# The most of what it said and did, and the most messages to it, that are shown.
_MAX_WORDS: Final = 24
_MAX_MESSAGES: Final = 3
# The most lines of the description of its task.
_DESCRIPTION: Final = 4
_SIGNS: Final = {"status": "status", "ran": "scheduled"}


class AgentNote(TextDrawing):
    """Draws the note.

    `room` returns how many lines it may have. For `quiet_after` see `AgentsRows`.
    """

    def __init__(self, context: Context, room: Callable[[], int], quiet_after: int) -> None:
        super().__init__(context)
        self._room = room
        self._quiet_after = quiet_after
        self._member: AgentView | None = None
        self._words: Sequence[Word] = ()
        self._sent: Sequence[Sent] = ()
        # The failures because of which it is stuck, oldest first.
        self._failed: Sequence[Sign] = ()
        self._view: AskView | None = None
        self._drawn: object = None
        self._whole: object = None

    def put(self, member: AgentView | None, view: AskView | None, most_words: int) -> None:
        """Set the agent to draw and its question, and read what it said, and the messages sent to it."""
        self._member, self._view = member, view
        db, name = self.context.db, member.name if member is not None else None
        self._words = last_words.words(db, name, min(_MAX_WORDS, most_words)) if name is not None else ()
        self._sent = message_queries.newest(db, name, _MAX_MESSAGES) if name is not None else ()
        stuck = member.stuck if member is not None else None
        self._failed = stuck_signs.repeated_failures(self.context.db, stuck)[-_MAX_FAILURES:]

    @property
    def drawn(self) -> object:
        """The version of the question that was drawn, whole or in part; None without one that can be answered."""
        return self._drawn

    def has_whole(self, version: object) -> bool:
        """Return whether all of a question and its options was drawn."""
        return version is not None and self._whole == version

    def asked_lines(self, width: int) -> int:
        """Return how many lines its question takes with what stands above it in any case; 0 without one."""
        if self._member is None or self._view is None or not width:
            return 0
        return len(self._trouble(self._member, width)) + len(self._ask(self._view, width))

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines: what it works on, its question, its task, messages to it and its words, newest first."""
        member, room = self._member, self._room()
        self._whole = self._drawn = None
        if member is None:
            return []
        trouble = self._trouble(member, width)
        asked = self._ask(self._view, width) if self._view is not None else []
        lines = [*trouble, *self._session(member, width)]
        if len(lines) + len(asked) > room and self._view is not None:
            # The row has what it was asked for and its tool.
            lines = [*trouble]
        lines[len(trouble) : len(trouble)] = self._failures(width, max(0, room - len(lines) - len(asked)))
        if self._view is not None:
            lines += self._fitted(self._view, asked, width, room - len(lines))
        news = self._news(width)
        about = self._description(width)
        # Parts stand apart where all of them have room.
        parts = [part for part in (lines, about, news) if part]
        if sum(map(len, parts)) + len(parts) - 1 <= room:
            lines = [line for at, part in enumerate(parts) for line in ([(), *part] if at else part)]
        else:
            lines = [*lines, *news]
        if member.task is not None and agent_states.is_quiet(member, self.context.clock.now(), self._quiet_after):
            quiet = duration(self._quiet_after, 1)
            lines += [[], [(f" quiet = not heard for {quiet} (config: quiet_after)", "$muted")]]
        return lines[:room]

    def _description(self, width: int) -> list[Drawn]:
        """Return number and name of its task, and the beginning of its description."""
        task = self._member.task if self._member is not None else None
        text = task_queries.task_or_deleted(self.context.db, task.uid).description if task is not None else ""
        if task is None or not text:
            return []
        head: Drawn = [(f" {safe_line(f'#{task.number} {task.name}', max(8, width - 2))}", "bold")]
        return [head, *block(text, max(8, width - 2), "$muted")[:_DESCRIPTION]]

    def _news(self, width: int) -> list[Drawn]:
        """Return the messages that wait, then its words, its acts and the messages it has read, newest first."""
        waiting = [sent for sent in self._sent if sent.state == "waiting"]
        told = [(sent.message.sent_at, self._message(sent, width)) for sent in self._sent if sent not in waiting]
        by_time = sorted((*told, *self._said(width)), key=lambda line: -line[0])
        return [*(self._message(sent, width) for sent in waiting), *(line for _, line in by_time)]

    def _said(self, width: int) -> list[tuple[int, Drawn]]:
        """Return what it said and did, newest first, each with its instant."""
        lines: list[tuple[int, Drawn]] = []
        for word in self._spoken():
            when = f" {self.context.clock.time_of(word.at)}  "
            mark = f"{sign(_SIGNS[word.kind], ascii_only=self.context.ascii_only)} " if word.kind in _SIGNS else ""
            task = agent_text.live_task(self.context.db, word.task) if word.task else None
            about = f"#{task.number}  " if task is not None else ""
            job = f"{safe_line(word.job, 40)}: " if word.job else ""
            words = agent_text.latest_words(word, self.context)
            if word.kind == "asked":
                # The time beside it is that of the question, not of its answer.
                mark = "? asked, " if agent_text.is_closed(word, self.context) else "? "
            said = safe_line(mark + job + words, max(8, width - len(when + about) - 1))
            lines.append((word.at, [(when + about, "$muted"), (said, "")]))
        return lines

    def _spoken(self) -> Iterator[Word]:
        """Yield its words without questions and failures that are shown, and one of runs that follow each other."""
        before = ""
        for word in self._words:
            is_shown = word.kind == "ran" == before or (word.kind == "asked" and self._view is not None)
            is_shown = is_shown or (word.kind == "tool.failed" and bool(self._failed))
            if not is_shown and agent_text.latest_words(word):
                yield word
            before = word.kind

    def _trouble(self, member: AgentView, width: int) -> list[Drawn]:
        """Return why it does not go on, or has no task."""
        room = max(8, width - 14)
        lines: list[Drawn] = []
        # A pause without a reason is said in its row.
        if member.paused and (member.state != "paused" or member.message != PAUSED):
            lines.append([(f" paused: {safe_line(agent_text.pause_words(member.message), room)}", "$state-skipped")])
        stuck = member.stuck
        if stuck is not None and stuck.cause not in (None, "human") and not member.paused:
            since = self.context.clock.time_of(stuck.since) if stuck.since is not None else ""
            lines.append([(f" stuck since {since}: {safe_line(stuck.text, max(8, width - 24))}", "$state-overdue")])
        if member.no_task:
            lines.append([(f" no task    {safe_line(member.no_task, room)}", "$state-overdue")])
        return lines

    def _failures(self, width: int, most: int) -> list[Drawn]:
        """Return the failures because of which it is stuck, newest first; one line for those that are the same."""
        lines: list[Drawn] = []
        newest_first = [(agent_text.failure(one, self.context), one.at) for one in reversed(self._failed)]
        for said, same in groupby(newest_first, lambda one: one[0]):
            when, *before = (self.context.clock.time_of(at) for _, at in same)
            times_of = ((at, len(list(each))) for at, each in groupby(before))
            also = ", ".join(f"{number} times at {at}" if number > 1 else at for at, number in times_of)
            also = f"  also {also}" if also else ""
            cut = safe_line(said, max(8, width - len(when) - len(also) - 4))
            lines.append([(f" {when}  ", "$muted"), (cut, "$state-failed"), (also, "$muted")])
        return lines[:most]

    def _session(self, member: AgentView, width: int) -> list[Drawn]:
        """Return what it was asked for and said last, and its tool."""
        now, room = self.context.clock.now(), max(8, width - 14)
        session = member.session
        lines: list[Drawn] = []
        if prompt := asked_for(session):
            lines.append([(" asked for  ", "$muted"), (safe_line(prompt, room), "")])
        if session is not None and session.last_message:
            lines.append([(" said last  ", "$muted"), (safe_line(session.last_message, room), "")])
        if member.tool is not None and member.tool_since is not None:
            self.lasts(age_lasts(member.tool_since, now))
            lines.append(
                [(" tool       ", "$muted"), (f"{safe_line(member.tool_use, room - 12)}, {self._for(member)}", "")]
            )
        return lines

    def _for(self, member: AgentView) -> str:
        assert member.tool_since is not None
        return f"for {age(member.tool_since, self.context.clock.now())}"

    def title(self, width: int) -> list[Part]:
        """Return the rule above: the agent with program, model, mode, folder, and what it has spent."""
        member = self._member
        if member is None:
            return rule_parts(self.context, width)
        name = agent_text.who(member.name, 40)
        about = self._about(member.session, max(8, width - cell_len(name) - 8))
        return rule_parts(self.context, width, [(name, "bold"), *about])

    def _about(self, session: AgentSession | None, room: int) -> Sequence[Part]:
        if session is None:
            return ()
        spent = times.spent(session.tokens, session.cost_usd)
        machine = process(session).machine
        place = f"{session.cwd or '-'} on {machine}" if machine else session.cwd
        parts = (session.program, session.model, session.mode, place, spent)
        facts = " · ".join(safe_line(part, 60) for part in parts if part)
        return [("  " + safe_line(facts, room), "$muted")]

    def _ask(self, view: AskView, width: int) -> list[Drawn]:
        """Return the whole question and its options, on one line if they fit, those of a permission on as few as do;
        each begins with its key. Those that only the inbox has a key for are muted, with dots between; of a permission
        they follow on their own lines.
        """
        lines = [*self._asked_about(view, width), *request_lines(view, width - 2, ascii_only=self.context.ascii_only)]
        if view.why_closed is not None:
            return [*lines, *block(view.why_closed, max(8, width - 2), "$state-needs-you")]
        texts = view.shown_options(self.context)
        keys, dot = self._option_keys(view), sign("log", ascii_only=self.context.ascii_only)
        muted = ("", "$muted")
        shown = [(keys.get(number, dot), option) for number, option in enumerate(texts)]
        if len(keys) < len(texts):
            shown.append((self.context.keymap.key_of("agent_ask"), "choose…"))
        if view.always:
            shown.sort(key=lambda option: option[0] == dot)
        # A text with such spaces could look like two options.
        is_plain = not any("  " in text or f" {dot} " in text for text in texts)
        widths = [cell_len(f"   {key} {text}") for key, text in shown]
        if is_plain and (sum(widths) < width or (view.is_permission and max(widths) < width)):
            column, before = width, ""
            for (key, text), cells in zip(shown, widths, strict=True):
                if column + cells >= width or (view.always and key == dot):
                    lines, column, before = [*lines, []], 0, ""
                between = f"   {key} " if key != dot else f" {dot} " if before == dot else "   "
                lines[-1] = [*lines[-1], (between, "$muted" if key == dot else "$key bold"), (text, muted[key == dot])]
                column, before = column + cells, key
            return lines
        room = max(cell_len(key) for key, _ in shown)
        for key, text in shown:
            for at, line in enumerate(wrapped(text, max(8, width - 5 - room))):
                head = f"   {fit('' if at or key == dot else key, room)} "
                lines.append([(head, "$key bold"), (line, muted[key == dot])])
        return lines

    def _asked_about(self, view: AskView, width: int) -> list[Drawn]:
        """Return number and name of the task that a question is about, where its agent works on another."""
        uid, own = self.context.state.asked_about.get(view.ask.uid, ""), self._member.task if self._member else None
        task = agent_text.live_task(self.context.db, uid) if own is not None and own.uid != uid else None
        if task is None:
            return []
        return [[(f" asks about {safe_line(f'#{task.number} {task.name}', max(8, width - 13))}", "$muted")]]

    def _fitted(self, view: AskView, lines: list[Drawn], width: int, room: int) -> list[Drawn]:
        """Return a question if it fits, else its beginning, and where it can be read."""
        if view.why_closed is None:
            self._drawn = view.version
        if len(lines) <= room and view.is_whole and view.question is None:
            self._whole = self._drawn
            return lines
        key = self.context.keymap.key_of("agent_ask")
        closed = block(view.why_closed, max(8, width - 2), "$state-needs-you") if view.why_closed is not None else []
        return [*lines[:2], [(f" … {key} shows all of it", "$key")], *closed]

    def _option_keys(self, view: AskView) -> dict[int, str]:
        """Return the keys that answer with an option here, by its number; numbers answer in the inbox alone."""
        keys = {}
        for action in answer_keys(view) if not view.takes_several else ():
            answer = view.approving if action == "ask_approve" else view.denying
            if answer in view.options:
                keys[view.options.index(answer)] = self.context.keymap.key_of(action)
        return keys

    def _message(self, sent: Sent, width: int) -> Drawn:
        """Return a message to it, with whether it was delivered."""
        return agent_text.sent_line(sent, self.context, width)
