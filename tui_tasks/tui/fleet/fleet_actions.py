"""The human's actions on the agent under the cursor in the fleet, except messages and pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.jobs import job_queries
from tui_tasks.core.read.log import standing_changes
from tui_tasks.hooks import abilities
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import DAY, HOUR
from tui_tasks.tui.inputs.dialogs import Choice, LineDialog, Menu
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.take_back import take_back

if TYPE_CHECKING:
    from tui_tasks.tui.fleet.fleet_screen import Fleet


class FleetActions(Controller):
    """The actions of the scope `agents`."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._context = fleet.context

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; names what the agent under the cursor lacks or cannot do."""
        member = self._fleet.member
        if action.needs != "agent":
            return None
        if member is None:
            return "no agent here"
        name = safe_line(member.name, 30)
        if action.id == "agent_stop":
            if member.state == "gone":
                return f"{name} is gone"
            if member.session is None:
                return f"{name} takes what it asks for and no more: pause it, or write to it"
            if member.state in ("idle", "failed", "interrupted"):
                return f"{name} is {member.state}: no turn of it goes on"
        if action.id == "agent_give_back" and member.task is None:
            return f"{name} is at no task"
        return None

    async def do_agent_stop(self) -> None:
        """End its turn, with a message of why."""
        member = self._fleet.member
        assert member is not None
        name = safe_line(member.name, 30)
        why = await self._context.ask(
            LineDialog(self._context, f"End the turn of {name}; what shall it read?", done="End its turn")
        )
        if why is None:
            return
        text = why.strip() or "The human has ended your turn."
        await self._context.link.commit(SendMessage(member.name, text, ends_turn=True))
        program = member.session.program if member.session is not None else ""
        if job_queries.run_of_agent(self._context.db, member.name) is not None:
            how = "Its turn ends now, and its run with it."
        else:
            how = abilities.why_not(program, "stop") or "Its turn ends at its next tool."
        self._context.say(f"Sent to {name}. {how}")

    async def do_agent_give_back(self) -> None:
        """Set the agent's current task to pending, and remove its agent."""
        member = self._fleet.member
        assert member is not None and member.task is not None
        task = member.task
        await self._context.link.commit(EditTask(task.uid, {"status": "pending", "agent": None}))
        number = self._context.numbers.number(task)
        self._context.say(f"#{number} is pending again; {safe_line(member.name, 30)} does not hold it any more.")

    async def do_agent_take_back(self) -> None:
        """Take back all that it did since a moment, which is asked for."""
        member = self._fleet.member
        assert member is not None
        now, clock = self._context.clock.now(), self._context.clock
        name = safe_line(member.name, 30)
        since = {"1": now - HOUR, "2": clock.midnight(), "3": now - DAY, "4": 0}
        words = ("the last hour", "today", "the last 24 hours", "all that is in the journal")
        choices = [Choice(key, word) for key, word in zip(since, words, strict=True)]
        key = await self._context.ask(Menu(self._context, f"Take back what {name} did since:", choices))
        if key is not None:
            changes = standing_changes.of_agent(self._context.db, member.name, since[key])
            await take_back(self._context, changes)

    def do_agent_log(self) -> None:
        """Show the log, of this agent alone."""
        member = self._fleet.member
        if member is not None:
            self._context.navigation.show_log(member.name)
