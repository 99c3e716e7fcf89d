"""Calls the human to a terminal without focus, and shows the digest to one who comes back.

Text of agents is sent as one safe line without control characters, after fixed words: it cannot end a control sequence,
and no program takes it for an option.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from asyncio.subprocess import DEVNULL
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.timer import Timer

from tui_tasks.core import agent_names
from tui_tasks.core.job_snapshots import ON_TIME
from tui_tasks.core.read import overview
from tui_tasks.core.read.overview import Alert, StateChanges
from tui_tasks.core.vocab import HUMAN
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import MINUTE, SECOND, count
from tui_tasks.tui.widgets.textual_overrides import write_to_terminal

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# Seconds for which later events are gathered into one call, and seconds without calls after one.
GATHER: Final = 0.3
HOLD: Final = 5.0
# Seconds after which the human's program is ended.
COMMAND_SECONDS: Final = 10.0
# The most seconds between two checks for late jobs, as clocks are set and machines sleep.
_LOOK: Final = 60.0
_CELLS: Final = 120
_WORDS: Final = {"task": "failed: ", "run": "job failed: ", "check": "check failed: ", "overdue": "late: "}
# Kinds of alerts by their urgency: a question waits for an answer, and what a terminal did can be taken back.
_FIRST: Final = ("terminal", "ask")


def summary(found: Sequence[Alert], *, ascii_only: bool = False) -> str:
    """Return one safe line on the events `found`, in their order: the first, and how many more."""
    first = found[0]
    who = safe_line(agent_names.display_name(first.who), 24, ascii_only=ascii_only)
    words = f"{who}: " if first.kind == "terminal" else _WORDS.get(first.kind, f"{who} asks: ")
    more = f" (and {count(len(found) - 1, 'more', 'more')})" if len(found) > 1 else ""
    return f"tui-tasks: {words}{safe_line(first.text, _CELLS, ascii_only=ascii_only)}{more}"


def sequence(text: str, kind: str, *, tmux: bool) -> str:
    """Return the control sequence for a terminal's notification; `text` is safe, `kind` a setting: osc9, osc777 or off.

    For tmux it is wrapped to be passed on (with `allow-passthrough on`), with every escape doubled.
    """
    if kind == "off":
        return ""
    # OSC 777 separates title and text by a semicolon, and a terminal may look for more of them.
    body = f"9;{text}" if kind == "osc9" else f"777;notify;tui-tasks;{text.replace(';', ',')}"
    whole = f"\x1b]{body}\x1b\\"
    return f"\x1bPtmux;{whole.replace(chr(27), chr(27) * 2)}\x1b\\" if tmux else whole


class Notifier:
    """Gathers events while nobody looks: one call for all that come together, and none soon after another."""

    def __init__(self, app: App[Any], context: Context) -> None:
        """`app` is used for its bell, timers and workers."""
        self._app = app
        self._context = context
        self._found: list[Alert] = []
        self._calling: Timer | None = None
        self._looking: Timer | None = None
        self._looked_at = 0
        self._has_failed = False

    def focus_changed(self, has_focus: bool) -> None:
        """Note that the terminal has lost the focus or has it again; jobs late before count as seen."""
        self._found.clear()
        for timer in (self._calling, self._looking):
            if timer is not None:
                timer.stop()
        self._calling = self._looking = None
        if not has_focus:
            self._looked_at = self._context.clock.now() - ON_TIME
            self._look_later()

    def follow(self, changes: StateChanges) -> None:
        """Check whether changes need the human."""
        if changes.all or any(
            entry.kind in overview.KINDS and (entry.actor != HUMAN or entry.entity == "terminal")
            for entry in changes.entries
        ):
            self._notify(overview.between(self._context.db, changes.since, changes.seq))
        if changes.touches("job", "run"):
            self.look()

    def look(self) -> None:
        """Check whether a job has become late since the last check."""
        upto = self._context.clock.now() - ON_TIME
        self._notify(overview.overdue(self._context.db, self._looked_at, upto))
        self._looked_at = max(self._looked_at, upto)
        self._look_later()

    def _look_later(self) -> None:
        if self._looking is not None:
            self._looking.stop()
        due = overview.next_due(self._context.db, self._looked_at)
        if due is not None:
            wait = (due + ON_TIME - self._context.clock.now()) / SECOND
            self._looking = self._app.set_timer(min(max(wait, 0.1), _LOOK), self.look)

    def _notify(self, found: Sequence[Alert]) -> None:
        self._found += found
        if self._found and self._calling is None:
            self._calling = self._app.set_timer(GATHER, self._call)

    def _call(self) -> None:
        self._calling = None
        if not self._found:
            return
        app, config = self._app, self._context.config
        # What failed has failed.
        alerts = sorted(self._found, key=lambda one: _FIRST.index(one.kind) if one.kind in _FIRST else len(_FIRST))
        text = summary(alerts, ascii_only=self._context.ascii_only)
        self._found.clear()
        if config.bell:
            app.bell()
        write_to_terminal(app, sequence(text, config.notify, tmux="TMUX" in os.environ))
        if config.notify_command:
            app.run_worker(self._run([*config.notify_command, text]), exit_on_error=False)
        self._calling = app.set_timer(HOLD, self._call)

    async def _run(self, command: list[str]) -> None:
        """Run the human's program without access to the terminal. Its first failure is shown."""
        process, why = None, ""
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
            )
            status = await asyncio.wait_for(process.wait(), COMMAND_SECONDS)
            why = f"it ended with status {status}" if status else ""
        except TimeoutError:
            why = f"it was not done after {COMMAND_SECONDS:g} s, and was ended"
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
        finally:
            if process is not None and process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        if why and not self._has_failed:
            self._has_failed = True
            self._context.say(f"notify_command {command[0]}: {why}")


LOOKS: Final = MINUTE
"""For so long after a key a human looks at a terminal that does not report its focus; in microseconds."""


class FocusTracking:
    """Tracks the focus. A terminal that does not report it counts as focused, except where it matters who looks."""

    def __init__(self, make_notifier: Callable[[], Notifier], *, is_on: bool) -> None:
        """`make_notifier` is called when the focus is first lost; never if tracking is off."""
        self._make_notifier = make_notifier
        self._is_on = is_on
        self._has_focus = True
        self._is_reported = False
        self._key_at: int | None = None
        self._notifier: Notifier | None = None

    def is_watched(self, now: int) -> bool:
        """Return whether the human looks: the terminal has the focus, or a key was pressed a short time ago."""
        if self._is_reported or not self._has_focus:
            return self._has_focus
        return self._key_at is not None and now - self._key_at < LOOKS

    def reported(self) -> None:
        """Note that the terminal reports its focus."""
        self._is_reported = True

    def key_pressed(self, now: int) -> None:
        """Note that the human has pressed a key."""
        self._key_at = now

    def focus_changed(self, has_focus: bool) -> None:
        """Note that the terminal has lost the focus or has it again."""
        self._has_focus = has_focus
        if self._notifier is None:
            if has_focus or not self._is_on:
                return
            self._notifier = self._make_notifier()
        self._notifier.focus_changed(has_focus)

    def follow(self, changes: StateChanges) -> None:
        """Call the human for changes that need one who looks elsewhere."""
        if self._notifier is not None and not self._has_focus:
            self._notifier.follow(changes)


LONG: Final = 30 * MINUTE
"""Whoever was away for so long is shown the digest; in microseconds."""


class Absence:
    """Notes absence by the terminal's focus. On a terminal that does not report focus, only a key shows the digest."""

    def __init__(self, context: Context, is_free: Callable[[], bool]) -> None:
        """`is_free`: whether a screen may be opened: no other is open, and nothing is being typed."""
        self._context = context
        self._is_free = is_free
        # The instant at which the human left, and the newest entry then; None while the human is present.
        self._left: tuple[int, int] | None = None

    def focus_changed(self, has_focus: bool) -> None:
        """Note that the terminal has lost the focus or has it again."""
        context = self._context
        if not has_focus:
            self._left = self._left or (context.clock.now(), context.link.seq)
            return
        left, self._left = self._left, None
        if left is None or context.clock.now() - left[0] < LONG or context.link.seq == left[1]:
            return
        if self._is_free():
            from tui_tasks.tui.screens.digest_screen import DigestScreen

            context.push(DigestScreen(context, left[0]))
