"""The table of all actions, from which keys, footer, palette and help are made.

An action belongs to one or more scopes. The focused widget and its ancestors up to the App offer the actions of their
`SCOPES` (`actions.Actor`), each performed by a method `do_<id>`. The configuration can remap keys by id.
"""

from __future__ import annotations

from typing import Final

import msgspec
from textual.binding import Binding


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


def _a(scopes: str, id: str, keys: str, title: str, short: str = "", *, help: str = "", needs: str = "") -> Action:
    return Action(id, frozenset(scopes.split()), keys, title, help, short, False, needs)


def _w(scopes: str, id: str, keys: str, title: str, short: str = "", *, help: str = "", needs: str = "") -> Action:
    """Return an action that writes."""
    return Action(id, frozenset(scopes.split()), keys, title, help, short, True, needs)


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
        _w("app", "undo", "u", "Undo your last change", "Undo"),
        _w("app", "redo", "ctrl+r", "Redo what you undid", "Redo"),
        _a("app", "attention", "exclamation_mark", "Go to the next that needs attention", "Next"),
        _a("app", "seen", "full_stop", "All seen: no change is new any more", "Seen"),
        _a("app", "previous_list", "left_square_bracket", "Previous list"),
        _a("app", "next_list", "right_square_bracket", "Next list"),
        _w("app", "new_list", "plus", "New list"),
        _w(
            "app",
            "this_list",
            "equals_sign",
            "This list: rename, archive or delete it",
            help="lists change its name remove put away",
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
        _w("app", "one_at_a_time", "o", "Hold this list to one task in progress, or do so no longer"),
        _w(
            "app",
            "review_list",
            "w",
            "Hold what agents file in this list until you accept it, or do so no longer",
            help="review lane proposed",
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
        _w("tasks", "new", "n", "New task below", "New"),
        _w("tasks", "new_above", "N", "New task above"),
        _w("tasks", "take_back", "U", "Take back what was deleted last here, whoever did it", "Take back"),
        _w("tasks", "edit", "e", "Edit the task here", "Edit", needs="task"),
        _w("tasks", "edit_in_editor", "E", "Edit the task in $EDITOR", needs="task"),
        _w("tasks", "status", "s", "Status: pending, in progress, done, failed, skipped", "Status", needs="task"),
        _w("tasks", "note", "m", "Note into the task's log, or message to its agent", "Note", needs="task"),
        _w("tasks", "checks", "c", "Checks of the task: give, take, run them", "Checks", needs="task"),
        _w("tasks", "move_to_list", "M", "Move the task to another list", needs="task"),
        _a("tasks", "mark", "v", "Mark the task, or take the mark away", "Mark", needs="task"),
        _a("tasks", "mark_all", "V", "Mark all that match, or none"),
        _w("tasks", "delete", "d", "Delete the task, or all that are marked", "Delete", needs="task"),
        _a("tasks", "open_links", "O", "Open the task's branch, commit, pull request or file", "Links", needs="task"),
        _a("link", "link_copy", "y", "Copy what a person would type next", "Copy"),
        _a("tasks", "copy", "y", "Copy the task's id or its Markdown", "Copy", needs="task"),
        _w("list", "move_down", "J", "Move the task down", needs="task"),
        _w("list", "move_up", "K", "Move the task up", needs="task"),
        _a("board", "column_left", "h,left", "Column to the left"),
        _a("board", "column_right", "l,right", "Column to the right"),
        _w("board", "card_left", "H", "Move the card to the left", needs="task"),
        _w("board", "card_right", "L", "Move the card to the right", "Move", needs="task"),
        _w("board", "card_down", "J", "Move the card down", needs="task"),
        _w("board", "card_up", "K", "Move the card up", needs="task"),
        _a("log", "log_follow", "f", "Follow: keep the newest entry on screen, or stand still", "Follow"),
        _a("log", "log_open", "enter", "Open the entry with its reasons; again: its task", "Open task", needs="entry"),
        _a("log", "log_filter", "slash", "Filter as you type: who:, kind:, list: and words", "Filter"),
        _a("log", "log_copy", "y", "Copy the entry", "Copy", needs="entry"),
        _w("log", "log_take_back", "U", "Take back this change, whoever made it", "Take back", needs="entry"),
        _w("log", "log_compact", "C", "Compact the journal: drop its oldest entries"),
        _a("log", "log_export", "E", "Export what is shown: Markdown or JSON lines", "Export"),
        _w("agent", "agent_message", "m", "Message to the agent", "Message", needs="agent"),
        _w("agent", "agent_pause", "P", "Pause the agent, or let it go on", "Pause", needs="agent"),
        *(
            _w("asks answers", f"ask_{number}", str(number), f"Answer with option {number}", needs="ask")
            for number in range(1, 10)
        ),
        _w("asks answers", "ask_approve", "y", "Approve", "Approve", needs="ask"),
        _w("asks answers", "ask_always", "Y", "Allow always, as the program suggests", "Always", needs="ask"),
        _w("asks", "ask_edit", "e", "Edit what the tool is given, and allow it so", "Edit", needs="ask"),
        _w("asks answers", "ask_deny", "d", "Deny, and say why", "Deny + reason", needs="ask"),
        _w("asks answers", "ask_reply", "r", "Reply in your own words", "Reply", needs="ask"),
        _a("asks", "ask_later", "z", "Later: put the question off", "Later", needs="ask"),
        _a("asks", "ask_open", "enter", "Open the question's task; once answered, go on to the next", "Open"),
        _a("inbox", "inbox_part", "tab", "The next part: questions, failed checks, what agents filed", "Next part"),
        _w("review", "review_accept", "y", "Accept the task, or all that are marked", "Accept", needs="held"),
        _w("review", "review_edit", "e", "Edit the task, and accept it so", "Edit", needs="held"),
        _w("review", "review_decline", "d", "Decline, and say why", "Decline", needs="held"),
        _w("review", "review_join", "J", "Join it to a task that says the same", "Join", needs="held"),
        _a("review", "review_mark", "v", "Mark the task, or take the mark away", "Mark", needs="held"),
        _a("review", "review_mark_all", "V", "Mark all that are shown, or none", needs="held"),
        _a("review", "review_filter", "slash", "Show only what says some words", "Filter"),
        _a("review", "review_open", "enter", "Show the task in its list", "Open", needs="held"),
        _a("failed", "failed_open", "enter", "Show the task in its list", "Open", needs="failed"),
        _w("failed", "failed_run", "r", "Run the task's checks again", "Run again", needs="failed"),
        _w(
            "failed",
            "failed_done",
            "s",
            "Set the task done all the same, though its check has failed",
            "Done anyway",
            needs="failed",
        ),
        _a("jobs", "job_filter", "slash", "Filter the jobs as you type", "Filter"),
        _w("jobs", "job_new", "n", "New job", "New"),
        _w("jobs", "job_run", "r", "Run the job now", "Run now", needs="job"),
        _w("jobs", "job_run_with", "R", "Run the job now, with input for this run", needs="job"),
        _w("jobs", "job_toggle", "t", "Switch the job on or off", "On/off", needs="job"),
        _w("jobs", "job_edit", "e", "Edit the job", "Edit", needs="job"),
        _a("jobs", "job_runs", "enter", "The job's runs and their output", "Runs", needs="job"),
        _w("jobs", "job_stop", "x", "End the job's run", "End run", needs="run"),
        _w("jobs", "job_delete", "d", "Delete the job", "Delete", needs="job"),
        _a("jobs", "job_copy", "y", "Copy the job's id, name or prompt", "Copy", needs="job"),
        _a("runs", "run_follow", "f", "Follow the output, or stop following", "Follow"),
        _w("runs", "run_stop", "x", "End the run", "End run", needs="run"),
        _a("runs", "run_copy", "y", "Copy the run's output", "Copy", needs="any run"),
        _a("runs", "run_output", "enter,tab", "Output, or back to the runs", "Output"),
        _w(
            "agents",
            "agent_give_back",
            "b",
            "Give the agent's task back: pending, and nobody's",
            "Give back",
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
        _w("agents", "agent_stop", "x", "End the agent's turn", "End turn", needs="agent"),
        _w("agents", "agent_take_back", "U", "Take back what the agent did since a moment", "Take back", needs="agent"),
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
