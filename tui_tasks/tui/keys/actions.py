"""The table of all actions, from which keys, footer, palette and help are made.

An action belongs to one or more scopes. The focused widget and its ancestors up to the App offer the actions of their
`SCOPES` (class `Actor`), each performed by a method `do_<id>`. The configuration can remap keys by id.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import msgspec
from textual.await_complete import AwaitComplete
from textual.binding import Binding

from tui_tasks.tui.widgets.textual_overrides import ResilientMessages

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

READ_ONLY: Final = "read only"


class Action(msgspec.Struct, frozen=True):
    """One action. `needs` is what must be present: `task` (under the cursor or marked)."""

    id: str
    scopes: frozenset[str]
    keys: str
    title: str
    help: str = ""
    short: str = ""
    writes: bool = False
    needs: str = ""

    @property
    def shown(self) -> str:
        """Its first key in the form shown to people."""
        return show_key(self.keys.split(",")[0])


_SHOWN: Final = {
    "question_mark": "?",
    "slash": "/",
    "full_stop": ".",
    "exclamation_mark": "!",
    "colon": ":",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "plus": "+",
    "equals_sign": "=",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pagedown": "PgDn",
    "pageup": "PgUp",
}


def show_key(key: str) -> str:
    """Return a key in the form shown to people: `ctrl+p` is `^p`."""
    return f"^{key[5:]}" if key.startswith("ctrl+") else _SHOWN.get(key, key)


def _a(
    scopes: str,
    id: str,
    keys: str,
    title: str,
    short: str = "",
    help: str = "",
    *,
    writes: bool = False,
    needs: str = "",
) -> Action:
    return Action(id, frozenset(scopes.split()), keys, title, help, short, writes, needs)


# Scopes: `app` everywhere; `past` everywhere while the past is shown; `rows` for widgets with a cursor over rows;
# `tasks` for panes with a current task; then one for each pane.
ACTIONS: Final[dict[str, Action]] = {
    action.id: action
    for action in (
        _a("app", "pane_list", "1", "Go to the list"),
        _a("app", "pane_board", "2", "Go to the board"),
        _a("app", "pane_log", "3", "Go to the log"),
        _a("app", "pane_schedule", "4", "Go to the schedule"),
        _a("app", "help", "question_mark", "Help: every key, searchable", "Help"),
        _a("app", "palette", "colon,ctrl+p", "Palette: every command by name", "Commands"),
        _a("app", "search_all", "ctrl+f", "Search in all lists", "Search", help="find filter tasks everywhere"),
        _a("app", "asks", "a", "What needs you: questions, failed checks, what agents have filed", "Asks"),
        _a(
            "app", "agents", "A,0", "Agents: what each is doing, and what it waits for", "Agents", help="fleet sessions"
        ),
        _a("app", "digest", "D", "While you were away: what needs you, failed, was proven, filed, spent", "Digest"),
        _a("app", "stats", "S", "Stats of this list", "Stats"),
        _a("app", "undo", "u", "Undo your last change", "Undo", writes=True),
        _a("app", "redo", "ctrl+r", "Redo what you undid", "Redo", writes=True),
        _a("app", "attention", "exclamation_mark", "Go to the next that needs attention", "Next"),
        _a("app", "seen", "full_stop", "All seen: no change is new any more", "Seen"),
        _a("app", "previous_list", "left_square_bracket", "Previous list"),
        _a("app", "next_list", "right_square_bracket", "Next list"),
        _a("app", "new_list", "plus", "New list", writes=True),
        _a(
            "app",
            "this_list",
            "equals_sign",
            "This list: rename, archive or delete it",
            help="lists change its name remove put away",
            writes=True,
            needs="list",
        ),
        _a("app", "projects", "P", "Projects: what is open, who works, what needs you; go to one", "Projects"),
        _a(
            "app agents asks",
            "only_project",
            "p",
            "Keep agents, inbox and log to the project that is chosen, or show all",
            "Project",
            help="all projects alone",
        ),
        _a("app", "one_at_a_time", "o", "Hold this list to one task in progress, or do so no longer", writes=True),
        _a(
            "app",
            "review_list",
            "w",
            "Hold what agents file in this list until you accept it, or do so no longer",
            help="review lane proposed",
            writes=True,
            needs="list",
        ),
        _a("app", "quit", "q", "Quit", "Quit"),
        _a("past", "past_change_back", "less_than_sign", "Time travel: back by a change", "Back"),
        _a("past", "past_change_on", "greater_than_sign", "Time travel: on by a change", "On"),
        _a("past", "past_hour_back", "left_curly_bracket", "Time travel: back by an hour", "Hour back"),
        _a("past", "past_hour_on", "right_curly_bracket", "Time travel: on by an hour", "Hour on"),
        _a("rows", "down", "j,down", "Down"),
        _a("rows", "up", "k,up", "Up"),
        _a("rows", "first", "g,home", "To the first"),
        _a("rows", "last", "G,end", "To the last"),
        _a("rows", "page_down", "ctrl+d,pagedown", "A page down"),
        _a("rows", "page_up", "ctrl+u,pageup", "A page up"),
        _a("tasks", "open", "enter", "Open the task", "Open", needs="task"),
        _a("tasks log overlay", "back", "escape", "Back: one layer", "Back"),
        _a("tasks", "filter", "slash", "Filter as you type", "Filter"),
        _a("tasks", "new", "n", "New task below", "New", writes=True),
        _a("tasks", "new_above", "N", "New task above", writes=True),
        _a("tasks", "take_back", "U", "Take back what was deleted last here, whoever did it", "Take back", writes=True),
        _a("tasks", "edit", "e", "Edit the task here", "Edit", writes=True, needs="task"),
        _a("tasks", "edit_in_editor", "E", "Edit the task in $EDITOR", writes=True, needs="task"),
        _a(
            "tasks",
            "status",
            "s",
            "Status: pending, in progress, done, failed, skipped",
            "Status",
            writes=True,
            needs="task",
        ),
        _a(
            "tasks", "note", "m", "Note into the task's log, or message to its agent", "Note", writes=True, needs="task"
        ),
        _a("tasks", "checks", "c", "Checks of the task: give, take, run them", "Checks", writes=True, needs="task"),
        _a("tasks", "move_to_list", "M", "Move the task to another list", writes=True, needs="task"),
        _a("tasks", "mark", "v", "Mark the task, or take the mark away", "Mark", needs="task"),
        _a("tasks", "mark_all", "V", "Mark all that match, or none"),
        _a("tasks", "delete", "d", "Delete the task, or all that are marked", "Delete", writes=True, needs="task"),
        _a("tasks", "open_links", "O", "Open the task's branch, commit, pull request or file", "Links", needs="task"),
        _a("link", "link_copy", "y", "Copy what a person would type next", "Copy"),
        _a("tasks", "copy", "y", "Copy the task's id or its Markdown", "Copy", needs="task"),
        _a("list", "move_down", "J", "Move the task down", writes=True, needs="task"),
        _a("list", "move_up", "K", "Move the task up", writes=True, needs="task"),
        _a("board", "column_left", "h,left", "Column to the left"),
        _a("board", "column_right", "l,right", "Column to the right"),
        _a("board", "card_left", "H", "Move the card to the left", writes=True, needs="task"),
        _a("board", "card_right", "L", "Move the card to the right", "Move", writes=True, needs="task"),
        _a("board", "card_down", "J", "Move the card down", writes=True, needs="task"),
        _a("board", "card_up", "K", "Move the card up", writes=True, needs="task"),
        _a("log", "log_follow", "f", "Follow: keep the newest entry on screen, or stand still", "Follow"),
        _a("log", "log_open", "enter", "Open the entry with its reasons; again: its task", "Open task", needs="entry"),
        _a("log", "log_filter", "slash", "Filter as you type: who:, kind:, list: and words", "Filter"),
        _a("log", "log_copy", "y", "Copy the entry", "Copy", needs="entry"),
        _a(
            "log",
            "log_take_back",
            "U",
            "Take back this change, whoever made it",
            "Take back",
            writes=True,
            needs="entry",
        ),
        _a("log", "log_compact", "C", "Compact the journal: drop its oldest entries", writes=True),
        _a("log", "log_export", "E", "Export what is shown: Markdown or JSON lines", "Export"),
        _a("agent", "agent_message", "m", "Message to the agent", "Message", writes=True, needs="agent"),
        _a("agent", "agent_pause", "P", "Pause the agent, or let it go on", "Pause", writes=True, needs="agent"),
        *(
            _a("asks answers", f"ask_{number}", str(number), f"Answer with option {number}", writes=True, needs="ask")
            for number in range(1, 10)
        ),
        _a("asks answers", "ask_approve", "y", "Approve", "Approve", writes=True, needs="ask"),
        _a(
            "asks answers",
            "ask_always",
            "Y",
            "Allow always, as the program suggests",
            "Always",
            writes=True,
            needs="ask",
        ),
        _a("asks", "ask_edit", "e", "Edit what the tool is given, and allow it so", "Edit", writes=True, needs="ask"),
        _a("asks answers", "ask_deny", "d", "Deny, and say why", "Deny + reason", writes=True, needs="ask"),
        _a("asks answers", "ask_reply", "r", "Reply in your own words", "Reply", writes=True, needs="ask"),
        _a("asks", "ask_later", "z", "Later: put the question off", "Later", needs="ask"),
        _a("asks", "ask_open", "enter", "Open the question's task; once answered, go on to the next", "Open"),
        _a("inbox", "inbox_part", "tab", "The next part: questions, failed checks, what agents filed", "Next part"),
        _a(
            "review",
            "review_accept",
            "y",
            "Accept the task, or all that are marked",
            "Accept",
            writes=True,
            needs="held",
        ),
        _a("review", "review_edit", "e", "Edit the task, and accept it so", "Edit", writes=True, needs="held"),
        _a("review", "review_decline", "d", "Decline, and say why", "Decline", writes=True, needs="held"),
        _a("review", "review_join", "J", "Join it to a task that says the same", "Join", writes=True, needs="held"),
        _a("review", "review_mark", "v", "Mark the task, or take the mark away", "Mark", needs="held"),
        _a("review", "review_mark_all", "V", "Mark all that are shown, or none", needs="held"),
        _a("review", "review_filter", "slash", "Show only what says some words", "Filter"),
        _a("review", "review_open", "enter", "Show the task in its list", "Open", needs="held"),
        _a("failed", "failed_open", "enter", "Show the task in its list", "Open", needs="failed"),
        _a("failed", "failed_run", "r", "Run the task's checks again", "Run again", writes=True, needs="failed"),
        _a(
            "failed",
            "failed_done",
            "s",
            "Set the task done all the same, though its check has failed",
            "Done anyway",
            writes=True,
            needs="failed",
        ),
        _a("jobs", "job_filter", "slash", "Filter the jobs as you type", "Filter"),
        _a("jobs", "job_new", "n", "New job", "New", writes=True),
        _a("jobs", "job_run", "r", "Run the job now", "Run now", writes=True, needs="job"),
        _a("jobs", "job_run_with", "R", "Run the job now, with input for this run", writes=True, needs="job"),
        _a("jobs", "job_toggle", "t", "Switch the job on or off", "On/off", writes=True, needs="job"),
        _a("jobs", "job_edit", "e", "Edit the job", "Edit", writes=True, needs="job"),
        _a("jobs", "job_runs", "enter", "The job's runs and their output", "Runs", needs="job"),
        _a("jobs", "job_stop", "x", "End the job's run", "End run", writes=True, needs="run"),
        _a("jobs", "job_delete", "d", "Delete the job", "Delete", writes=True, needs="job"),
        _a("jobs", "job_copy", "y", "Copy the job's id, name or prompt", "Copy", needs="job"),
        _a("runs", "run_follow", "f", "Follow the output, or stop following", "Follow"),
        _a("runs", "run_stop", "x", "End the run", "End run", writes=True, needs="run"),
        _a("runs", "run_copy", "y", "Copy the run's output", "Copy", needs="any run"),
        _a("runs", "run_output", "enter,tab", "Output, or back to the runs", "Output"),
        _a(
            "agents",
            "agent_give_back",
            "b",
            "Give the agent's task back: pending, and nobody's",
            "Give back",
            writes=True,
            needs="agent",
        ),
        _a(
            "digest",
            "digest_open",
            "enter",
            "Open the journal entries behind the line; on an entry: show it in the log",
            "Entries",
            needs="line",
        ),
        _a("agents", "agent_log", "enter", "The agent's log", "Its log", needs="agent"),
        _a("agents", "agent_stop", "x", "End the agent's turn", "End turn", writes=True, needs="agent"),
        _a(
            "agents",
            "agent_take_back",
            "U",
            "Take back what the agent did since a moment",
            "Take back",
            writes=True,
            needs="agent",
        ),
        _a("agents", "agent_ask", "a", "The agent's question in the inbox, whole", "Question"),
    )
}


def bindings(*scopes: str) -> list[Binding]:
    """Return the bindings of the scopes' actions, for a class's BINDINGS."""
    return [
        Binding(action.keys, f"act('{action.id}')", action.title, show=False, id=action.id)
        for action in ACTIONS.values()
        if not action.scopes.isdisjoint(scopes)
    ]


class Dialog(ResilientMessages):
    """Mixin for screens that open over others and close once."""

    context: Context

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close it. A second click or key that comes too late is ignored; Textual would close the screen below."""
        if not self.is_active:  # type: ignore[attr-defined]  # every screen has it
            return AwaitComplete()
        return cast("AwaitComplete", super().dismiss(result))  # type: ignore[misc]  # every screen has it


class Controller:
    """Performs some actions of the pane or screen that it is given, each by its method `do_<id>`."""

    def why_not(self, action: Action) -> str | None:
        """Return the reason for which one of its actions cannot be performed now, for people; None when it can."""
        return None


class Actor(ResilientMessages):
    """Mixin for widgets, screens and the App that offer the actions of their scopes.

    An action is performed by the actor's own method `do_<id>`, else by the first of its `controllers` that has one. A
    class that sets `SCOPES` also sets `BINDINGS = bindings(*SCOPES)`.
    """

    SCOPES: ClassVar[tuple[str, ...]] = ()
    context: Context
    controllers: Sequence[Controller] = ()

    def offers(self) -> list[Action]:
        """Return the actions that it offers, in the order of the table."""
        return [
            action
            for action in ACTIONS.values()
            if not action.scopes.isdisjoint(self.SCOPES) and self._doer(action.id) is not None
        ]

    def why_not(self, action: Action) -> str | None:
        """Return the reason for which an action cannot be performed now, for people; None when it can."""
        if action.writes and self.context.link.read_only:
            return READ_ONLY
        doer = self._doer(action.id)
        return doer.why_not(action) if isinstance(doer, Controller) else None

    def action_act(self, id: str) -> None:
        """Perform an action by its id, or show why it cannot be performed."""
        action = ACTIONS[id]
        why = self.why_not(action)
        if why is not None:
            self.context.say(f"{action.title}: {why}")
            return
        done = getattr(self._doer(id), f"do_{id}")()
        if inspect.iscoroutine(done):
            self.context.run(done)

    def _doer(self, id: str) -> Any:
        """Return the object with the method of an action: the actor itself, one of its controllers, or None."""
        return next((each for each in (self, *self.controllers) if hasattr(each, f"do_{id}")), None)
