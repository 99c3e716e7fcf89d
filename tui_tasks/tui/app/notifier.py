"""Calls the human to a terminal without focus: by the bell, the terminal's notification, a program of the human's.

Imported when the focus is first lost. Text of agents is sent as one safe line without control characters, after fixed
words: it cannot end a control sequence, and no program takes it for an option.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from asyncio.subprocess import DEVNULL
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.timer import Timer

from tui_tasks.core.read import alerts
from tui_tasks.core.read.alerts import Alert
from tui_tasks.core.schedule.decisions import ON_TIME
from tui_tasks.core.vocab import HUMAN
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import SECOND, count
from tui_tasks.tui.state.state_changes import StateChanges
from tui_tasks.tui.widgets.textual_overrides import write_to_terminal

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# Seconds for which later events are gathered into one call, and seconds without calls after one.
GATHER: Final = 0.3
HOLD: Final = 5.0
# Seconds after which the human's program is ended.
COMMAND_SECONDS: Final = 10.0
# The most seconds between two checks for overdue jobs, as clocks are set and machines sleep.
_LOOK: Final = 60.0
_CELLS: Final = 120
_WORDS: Final = {"task": "failed: ", "run": "job failed: ", "check": "check failed: ", "overdue": "overdue: "}


def summary(found: Sequence[Alert], *, ascii_only: bool = False) -> str:
    """Return one safe line on the events `found`, in their order: the first, and how many more."""
    first = found[0]
    who = safe_line(first.who, 24, ascii_only=ascii_only)
    words = _WORDS.get(first.kind, f"{who} asks: ")
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
        """Note that the terminal has lost the focus or has it again; jobs overdue before count as seen."""
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
        if changes.all or any(entry.kind in alerts.KINDS and entry.actor != HUMAN for entry in changes.entries):
            self._tell(alerts.between(self._context.db, changes.since, changes.seq))
        if changes.touches("job", "run"):
            self.look()

    def look(self) -> None:
        """Check whether a job has become overdue since the last check."""
        upto = self._context.clock.now() - ON_TIME
        self._tell(alerts.overdue(self._context.db, self._looked_at, upto))
        self._looked_at = max(self._looked_at, upto)
        self._look_later()

    def _look_later(self) -> None:
        if self._looking is not None:
            self._looking.stop()
        due = alerts.next_due(self._context.db, self._looked_at)
        if due is not None:
            wait = (due + ON_TIME - self._context.clock.now()) / SECOND
            self._looking = self._app.set_timer(min(max(wait, 0.1), _LOOK), self.look)

    def _tell(self, found: Sequence[Alert]) -> None:
        self._found += found
        if self._found and self._calling is None:
            self._calling = self._app.set_timer(GATHER, self._call)

    def _call(self) -> None:
        self._calling = None
        if not self._found:
            return
        app, config = self._app, self._context.config
        # A question waits for an answer; what failed has failed.
        text = summary(sorted(self._found, key=lambda alert: alert.kind != "ask"), ascii_only=self._context.ascii_only)
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
