"""The lines around every pane: tabs, the Now line, the footer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import events
from textual.timer import Timer

from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import SECOND, age, age_lasts, count, due, moment
from tui_tasks.tui.keys.action_table import ACTIONS
from tui_tasks.tui.painting.frame_line import FrameLine
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.panes import PANES
from tui_tasks.tui.widgets.breakpoints import NARROW, WIDE, is_compact

if TYPE_CHECKING:
    from tui_tasks.core.past.moments import Moment
    from tui_tasks.tui.state.context import Context


_IN_TIME: Final = ("past_change_back", "past_change_on", "past_hour_back", "past_hour_on")


def _agents_here(context: Context) -> int:
    """Return how many agents are present."""
    return context.state.agent_count(context.clock.now())


class TopLine(FrameLine):
    """The panes at the left; file, mode and agents at the right."""

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, self._panes, self._state, id=id)

    def _panes(self, width: int) -> Sequence[Part]:
        """` [1 List]  2 Board ...`."""
        parts: list[Part] = []
        for number, (name, title) in enumerate(PANES.items(), 1):
            here = name == self.context.navigation.pane_name
            parts.append((f" [{number} {title}]" if here else f"  {number} {title}", "bold" if here else "$muted"))
        return parts

    def _state(self, width: int) -> Sequence[Part]:
        """`auth.db  live  2 agents`; in the past, its moment, as far as there is room."""
        context = self.context
        if context.link.as_of is not None:
            room = width - sum(cell_len(text) for text, _ in self._panes(width)) - 3
            return [(f"{as_of_words(context, context.link.as_of, room)} ", "$state-overdue")]
        here = _agents_here(context)
        mode = ("read only", "$state-overdue") if context.link.read_only else ("live", "$muted")
        name = safe_line(Path(context.link.path).name, 24)
        agents = count(here, "agent") if here else "no agent"
        chosen = context.state.projects.chosen
        project = f"{safe_line(chosen or 'no project', 20)}  " if chosen is not None else ""
        return [(project, "bold"), (f"{name}  ", "$muted"), mode, (f"  {agents} ", "$muted")]

    def on_click(self, event: events.Click) -> None:
        """Show the pane that was clicked."""
        at = self.part_number(event.x)
        if at is not None:
            self.context.navigation.show_pane(list(PANES)[at])


def as_of_words(context: Context, as_of: Moment, room: int) -> str:
    """Return the moment of the past that is shown, its last entry and the journal's hash, as far as there is room.

    From `auth.db  as it was Sun 22 Nov 18:00:03  entry 114 a3f9c2d1` down to `18:00 entry 114`.
    """
    when, entry, hashed = moment(as_of.instant, context.clock.zone), f"entry {as_of.seq}", as_of.hash.hex()[:8]
    seconds = f"{when}:{as_of.instant // SECOND % 60:02}"
    words = [
        f"{safe_line(Path(context.link.path).name, 24)}  as it was {seconds}  {entry} {hashed}",
        f"as it was {seconds}  {entry} {hashed}",
        f"was {seconds} {entry} {hashed}",
        f"was {when} {entry} {hashed}",
        f"was {when.partition(' ')[2]} {entry} {hashed}",
        f"was {when} {entry}",
        f"{when.rpartition(' ')[2]} {entry}",
    ]
    return next((one for one in words if cell_len(one) <= room), words[-1])


# The last step of shortening the Now line: 1 drops the log entry, 2 the times, 3 the agent, 4 half of the task's name,
# 5 all but marks and numbers.
_LEAST: Final = 5


class NowLine(FrameLine):
    """The current state in one line: who works on what, what needs the human, what failed, what runs next.

    It is shortened in steps to the width. A click on a part goes to what it names.
    """

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, self._fitted, id=id)
        self._acts: list[str] = []

    def _fitted(self, width: int) -> Sequence[Part]:
        """As much text as fits, shortened in steps down to `◐ #5 40s   ? 2   ✗ 1   ◷ 12h`."""
        steps = range(0 if width >= WIDE else 2 if width >= NARROW else _LEAST, _LEAST + 1)
        for step in steps:
            groups = self._groups(step)
            gap = "      " if step == 0 else "    " if step == 1 else "   "
            parts = [(" ", "")]
            self._acts = [""]
            for act, group in groups:
                if len(parts) > 1:
                    parts.append((gap, ""))
                    self._acts.append("")
                parts += group
                self._acts += [act] * len(group)
            if sum(cell_len(text) for text, _ in parts) <= width:
                break
        return parts

    def _groups(self, step: int) -> list[tuple[str, list[Part]]]:
        seen, small = self.context.state, step == _LEAST
        groups = [("active", self._active(step))]
        if self.context.link.as_of is not None and is_compact(self.app.size):
            # The line of the panes, which also shows it, is hidden.
            groups.insert(0, ("", [(as_of_words(self.context, self.context.link.as_of, 0), "$state-overdue")]))
        waiting = len(seen.asks) + len(seen.unproven)
        if waiting:
            words = f"{waiting}" if small else f"{waiting} need{'s' if waiting == 1 else ''} you"
            groups.append(("asks", [(f"{self._mark('needs_you')} {words}", "$state-needs-you")]))
        elif not small:
            groups.append(("asks", [("nothing needs you", "$muted")]))
        if seen.held:
            words = f"{seen.held}" if small else f"{seen.held} filed"
            groups.append(("asks", [(f"{self._mark('held')} {words}", "$state-needs-you")]))
        # Agents that wait for the human are shown already.
        if stuck := [one for one in seen.stuck.values() if one.cause != "human"]:
            words = f"{len(stuck)}" if small else f"{len(stuck)} stuck"
            if step <= 1 and len(stuck) == 1:
                words = f"{safe_ends(stuck[0].uid, 16)} {stuck[0].text}"
            groups.append(("agents", [(f"{self._mark('stuck')} {safe_line(words, 48)}", "$state-overdue")]))
        if seen.failed or seen.failing:
            act = "attention" if seen.failed else "pane_schedule"
            groups.append((act, [(f"{self._mark('failed')} {self._failed(small=small)}", "$state-failed")]))
        return [*groups, *self._job(step)]

    def _failed(self, *, small: bool) -> str:
        """Return how many tasks and jobs have failed, or the name of the only job."""
        tasks, jobs = self.context.state.failed, self.context.state.failing
        if small:
            return f"{tasks + len(jobs):,}"
        if not tasks:
            return f"{safe_ends(jobs[0], 24) if len(jobs) == 1 else count(len(jobs), 'job')} failed"
        return f"{tasks:,} failed, {count(len(jobs), 'job')}" if jobs else f"{tasks:,} failed"

    def _mark(self, state: str) -> str:
        return look(state).mark(ascii_only=self.context.ascii_only)

    def _active(self, step: int) -> list[Part]:
        context, task = self.context, self.context.state.active
        if task is None:
            is_known = context.link.as_of is None
            words = "nothing in progress" if _agents_here(context) or not is_known else "no agent connected"
            return [("idle" if step == _LEAST else words, "$muted")]
        now = context.clock.now()
        self.lasts(age_lasts(task.updated_at, now))
        ahead = context.numbers.ahead_if_quick(task.list_id, task.rank)
        if ahead is None:
            # A long list is counted after the first screen is painted.
            self.app.call_after_refresh(self._number_it)
        old, number = age(task.updated_at, now), "…" if ahead is None else ahead + 1
        # An agent may work on this task while it waits for an answer about another.
        is_waiting = any(ask.agent == task.who and ask.task_uid in (None, task.uid) for ask in context.state.asks)
        is_paused = task.who in context.state.paused
        state = look("needs_you" if is_waiting else "skipped" if is_paused else "in_progress")
        parts: list[Part] = [(f"{state.mark(ascii_only=context.ascii_only)} ", state.color)]
        if step == _LEAST:
            return [*parts, (f"#{number} {old}", "")]
        if is_waiting or is_paused:
            parts.append(("waits  " if is_waiting else "paused  ", state.color))
        if step <= 2:
            parts.append((f"{safe_ends(task.who, 16)}  ", "$muted"))
        parts.append((f"#{number} {safe_line(task.name, 30 if step < 4 else 16)}  ", ""))
        log = context.state.active_log
        if step == 0 and log is not None:
            parts.append((f'"{safe_line(log.message, 24)}"  ', ""))
        return [*parts, (f"{old} ago" if step < 2 and old != "now" else old, "$muted")]

    def _number_it(self) -> None:
        if self.context.state.active is not None:
            self.context.numbers.number(self.context.state.active)
        self.again()

    def _job(self, step: int) -> list[tuple[str, list[Part]]]:
        context, job = self.context, self.context.state.next_job
        if job is None:
            return (
                [] if step == _LEAST or context.state.active else [("pane_schedule", [("nothing scheduled", "$muted")])]
            )
        name, when = job
        now = context.clock.now()
        self.lasts(age_lasts(when, now))
        late = when < now
        mark = self._mark("overdue") if late else sign("scheduled", ascii_only=context.ascii_only)
        until = due(when, now)
        if step == _LEAST:
            words = until.removeprefix("in ").removeprefix("overdue ")
        elif step <= 1:
            words = f"{safe_line(name, 16)} {context.clock.time_of(when)}, {until}"
        else:
            words = f"{safe_line(name, 16)} {until}"
        return [("pane_schedule", [(f"{mark} {words}", "$state-overdue" if late else "")])]

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        at = self.part_number(event.x)
        act = self._acts[at] if at is not None and at < len(self._acts) else ""
        if act == "active" and self.context.state.active is not None:
            self.context.navigation.go_to(self.context.state.active.uid)
        elif act not in ("", "active"):
            self.context.do(act)


class FootLine(FrameLine):
    """The keys that work here, or for a moment a message."""

    def __init__(self, context: Context, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(context, self._keys, self._moment, id=id, classes=classes)
        self._said = ""
        self._quiet: Timer | None = None
        self._hints: Sequence[tuple[str, str, str]] | None = None

    def say(self, text: str, seconds: float = 6.0) -> None:
        """Show a safe line instead of the keys for a moment."""
        self._said = text
        if self._quiet is not None:
            self._quiet.stop()
        self._quiet = self.set_timer(seconds, self.hush) if text else None
        self.again()

    def hush(self) -> None:
        """Show the keys again."""
        if self._said:
            self.say("")

    @property
    def message(self) -> str:
        """The message that is shown now; while the database cannot be read, that."""
        unread = self.context.link.unread
        return self._said or (f"The database cannot be read: {safe_line(unread)}" if unread else "")

    def hint(self, *hints: tuple[str, str, str]) -> None:
        """Show these hints instead of the pane's: (key, word, id of the action or empty). Without any, the pane's
        again.
        """
        self._hints = hints or None
        self.again()

    def _keys(self, width: int) -> Sequence[Part]:
        """` ? Help  / Filter ...`, as many hints as fit."""
        if message := self.message:
            return [(" ", ""), (safe_line(message, width - 2), "$changed")]
        hints = self._shown_hints(width)
        parts: list[Part] = [(" ", "")]
        used = 1 + sum(cell_len(text) for text, _ in self._moment(width))
        for key, word, _ in hints:
            size = cell_len(key) + 1 + cell_len(word) + 2
            if used + size - 2 > width:
                break
            used += size
            parts += [(key, "$changed"), (f" {word}  ", "$muted")]
        return parts

    def _moment(self, width: int) -> Sequence[Part]:
        """The moment of the past that is shown, on screens without the line of the panes."""
        as_of = self.context.link.as_of
        if as_of is None or self.message or self.screen is self.app.screen_stack[0]:
            return ()
        return [(f" {as_of_words(self.context, as_of, width // 2)} ", "$state-overdue")]

    def _shown_hints(self, width: int) -> list[tuple[str, str, str]]:
        """Return the hints, without actions that would do nothing, and in a read-only screen without those that
        write.
        """
        hints = self._hints if self._hints is not None else self._of_pane(width)
        read_only = self.context.link.read_only
        return [hint for hint in hints if not (read_only and hint[2] and ACTIONS[hint[2]].writes)]

    def _of_pane(self, width: int) -> list[tuple[str, str, str]]:
        pane = self.context.navigation.pane
        key_of, small = self.context.keymap.key_of, width < NARROW
        ids = pane.footer(small)
        if self.context.link.as_of is not None:
            ids = (*ids[:1], *_IN_TIME, *ids[1:])
        found = ((key_of(each), pane.short(ACTIONS[each]), each) for each in ids)
        return [hint for hint in found if hint[1]]

    def on_click(self, event: events.Click) -> None:
        """Perform the clicked action."""
        hints = self._shown_hints(self.size.width)
        x = event.x - 1
        for key, word, action in hints:
            x -= cell_len(key) + 1 + cell_len(word) + 2
            if x < 0:
                if action and not self.message:
                    self.context.do(action)
                return
