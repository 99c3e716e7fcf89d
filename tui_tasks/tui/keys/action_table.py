"""The table of all actions, from which keys, footer, palette and help are made.

An action belongs to one or more scopes. The focused widget and its ancestors up to the App offer the actions of their
`SCOPES` (`actions.Actor`), each performed by a method `do_<id>`. The configuration can remap keys by id.

A key means the same everywhere: all actions with a key share its verb. Rare and dangerous actions have no key. The
palette finds them by a word.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from textual.binding import Binding


class Action(msgspec.Struct, frozen=True):
    """One action.

    Attributes:
        keys: its keys in Textual's names; empty: only the palette has it.
        habit: a key that works as well, but is shown only where it is the only one.
        title: what it does, for people.
        short: the word in the foot.
        needs: what must be present, for example `task` (under the cursor or marked).
        verb: what its key means everywhere.
        word: the word that finds it in the palette, of an action without a key.
        also: more words by which people look for it in the palette and in the help.
    """

    id: str
    scopes: frozenset[str]
    keys: str
    title: str
    short: str = ""
    writes: bool = False
    needs: str = ""
    verb: str = ""
    word: str = ""
    habit: str = ""
    also: str = ""

    @property
    def all_keys(self) -> str:
        """Its keys, also those that are shown nowhere."""
        return ",".join(filter(None, (self.keys, self.habit)))

    @property
    def takes_words(self) -> bool:
        """Whether it opens something to type in, so that a person may type on without looking."""
        return self.id in _TAKES_WORDS

    @property
    def takes_text(self) -> bool:
        """Whether what is typed after it is a text for an agent or for the log."""
        return self.id in ("note", "agent_stop")

    @property
    def moves(self) -> bool:
        """Whether it only moves the cursor, or scrolls."""
        return self.id in _MOVES


_TAKES_WORDS: Final = frozenset(
    (
        *("palette", "help", "search_all", "projects", "new_list", "filter", "new", "new_above", "edit", "note"),
        *("log_filter", "agent_message", "agent_stop", "ask_deny", "ask_reply"),
        *("review_decline", "review_filter", "job_filter", "job_new", "job_edit", "work_comment", "work_find"),
    )
)


_MOVES: Final = frozenset(("down", "up", "first", "last", "page_down", "page_up"))


SCOPES: Final = {
    "tasks": "Tasks",
    "inbox": "Inbox: what needs you",
    "agents": "Agents",
    "work": "Work of agents",
    "jobs": "Schedule",
    "log": "Log",
    "rows": "Rows",
    "app": "Everywhere",
}
"""The scopes with their names for people, those that belong to one place first."""

NO_KEY: Final = "no_key"
"""The key of a binding that only the settings give a key; no terminal sends it."""


def _a(
    scopes: str,
    id: str,
    keys: str,
    title: str,
    short: str = "",
    *,
    needs: str = "",
    verb: str = "",
    word: str = "",
    habit: str = "",
    also: str = "",
    writes: bool = False,
) -> Action:
    return Action(id, frozenset(scopes.split()), keys, title, short, writes, needs, verb or id, word, habit, also)


# An action that writes.
_w = partial(_a, writes=True)


_PANES: Final = (
    ("list", "tasks"),
    ("board", "kanban columns cards"),
    ("log", "logs history journal export timeline"),
    ("schedule", "jobs cron timers calendar"),
)
_TABLE: Final = (
    # Everywhere.
    *(
        _a("app", f"pane_{name}", str(number), f"Go to the {name}", verb="number", also=also)
        for number, (name, also) in enumerate(_PANES, 1)
    ),
    _a("app", "help", "question_mark,f1", "Help: every key, searchable", "Help",
       also="legend glyphs colours keys shortcuts manual"),
    _a("app", "palette", "colon,ctrl+p", "Palette: every command by name", "Commands", also="run themes theme dark"),
    _a("app", "search_all", "ctrl+f", "Search in all lists", "Search", also="find filter tasks everywhere"),
    _a("app", "asks", "a", "Inbox: all that needs you", "Inbox", verb="answer",
       also="approve deny questions permissions failed checks held tasks work merge review agents gone stuck"),
    _a("app", "agents", "A", "Agents: what each does, and what it waits for", "Agents",
       also="fleet sessions pods who claude codex pause resume stop kill"),
    _a("app", "digest", "D", "Digest: what happened while you were away", "Digest", also="report summary away"),
    _a("app", "stats", "S", "Stats of this list", "Stats", also="statistics charts burndown"),
    _a("app", "settings", "", "Settings: what is in force, and where it comes from", "Settings", word="settings",
       also="config configuration preferences options notifications bell mute"),
    _w("app", "undo", "u", "Undo your last change", "Undo", also="take back restore revert"),
    _w("app", "redo", "ctrl+r", "Redo what you undid", "Redo"),
    _a("app", "attention", "exclamation_mark", "Go to the next that needs you", "Next", also="attention failed late"),
    _a("app", "seen", "full_stop", "Mark everything as seen", "Seen", also="changed new read dot hide dismiss"),
    _a("app", "previous_list", "left_square_bracket", "Previous list", needs="list", verb="turn"),
    _a("app", "next_list", "right_square_bracket", "Next list", needs="list", verb="turn", also="switch lists"),
    _a("app", "quit", "q", "Quit; from a screen or an opened row: back", "Quit",
       also="exit leave close logout q! wq x"),
    _a("app", "suspend", "ctrl+z", "Suspend: go to the shell; `fg` continues", "Suspend"),
    _w("app", "new_list", "", "New list", word="new list", also="make create add project plan"),
    _w("app", "this_list", "", "Change this list: rename, archive or delete it", needs="list", word="change",
       also="lists name remove put away"),
    _a("app", "projects", "", "Projects: go to one", "Projects", word="projects",
       also="repositories folder switch ns namespace namespaces ctx context contexts workspace"),
    _a("app agents inbox", "only_project", "", "Show agents, inbox and log of this project only",
       "Project", word="keep", also="all projects alone"),
    _w("app", "one_at_a_time", "", "Allow one task in progress for each agent of this list",
       needs="list", word="one task", also="limit wip at a time"),
    _w("app", "review_list", "", "Hold new tasks of agents in this list until you accept them",
       needs="list", word="hold", also="review lane proposed accept"),
    _w("app", "auto_list", "", "Start agents on the ready tasks of this list",
       needs="list", word="start", also="auto automatic agents work off queue"),
    # The past, with `watch --at`.
    _a("app", "past_change_back", "less_than_sign", "Time travel: back by a change", "Earlier", verb="time"),
    _a("app", "past_change_on", "greater_than_sign", "Time travel: forward by a change", "Later", verb="time"),
    _a("app", "past_hour_back", "left_curly_bracket", "Time travel: back by an hour", "Hour earlier", verb="time"),
    _a("app", "past_hour_on", "right_curly_bracket", "Time travel: forward by an hour", "Hour later", verb="time"),
    # Rows of any kind.
    _a("rows", "digest_open", "enter", "Open the entries of the line; on one, show it in the log",
       "Entries", needs="line", verb="open"),
    _a("rows", "down", "j,down", "Down", also="move cursor"),
    _a("rows", "up", "k,up", "Up", also="move cursor"),
    _a("rows", "first", "g,home", "To the first", also="top beginning"),
    _a("rows", "last", "G,end", "To the last", also="bottom end"),
    _a("rows", "page_down", "ctrl+d,pagedown", "A page down", also="scroll"),
    _a("rows", "page_up", "ctrl+u,pageup", "A page up", also="scroll"),
    _a("rows", "back", "escape", "Back: one layer", "Back", verb="back", also="close leave cancel"),
    _a("rows", "link_copy", "Y", "Copy the command that is shown", "Copy", verb="copy"),
    # Tasks: list and board.
    _a("tasks", "open", "enter", "Open the task", "Open", needs="task", verb="open", also="detail show"),
    _a("tasks", "filter", "slash", "Filter as you type", "Filter", verb="filter",
       also="search find view views saved tag tags show hide done open group due late"),
    _a("tasks", "hide_done", "", "Hide done: show open tasks only", word="hide done",
       also="completed finished closed only open"),
    _a("tasks", "show_done", "", "Show done: show tasks of every status again", word="show done",
       also="completed finished closed unhide"),
    _w("tasks", "new", "n", "New task below", "New", verb="new", also="add create task paste lines tag tags"),
    _w("tasks", "new_above", "", "New task above", word="above", also="add create task"),
    _w("tasks", "edit", "e", "Edit the task here, or fields of all that are marked", "Edit", needs="task", verb="edit",
       also="title rename description due date priority tag tags agent assign domain estimate depends fields"),
    _w("tasks", "edit_in_editor", "E", "Edit the task in $EDITOR", needs="task", also="vim description"),
    _w("tasks", "status", "s", "Status: pending, started, done, failed, skipped, cancelled",
       "Status", needs="task", verb="status", also="complete finish close in progress give back mark reopen check"),
    _w("tasks", "note", "m", "Write a note into the task's log, or a message to its agent",
       "Note", needs="task", verb="write", also="comment log annotate tell talk chat"),
    _w("tasks agents", "work_start", "W", "Start an agent on the task, or on all that are marked",
       "Work", needs="task", also="worktree claude codex gemini opencode run restart again"),
    _a("tasks", "work_peek", "space", "Peek: the last lines of the task's agent, live",
       "Peek", needs="task", verb="peek", also="terminal watch look"),
    _w("tasks", "work_restore", "", "Bring back the task's merged or discarded work", needs="task", word="bring back",
       also="undo revert discard worktree"),
    _w("tasks agents", "work_end", "", "Discard the task's work, and end its agent",
       "Its work", needs="task", word="discard", also="stop kill drop throw away worktree"),
    _a("tasks", "work_record", "", "Record of the task's agent: prompts, words, tools, edits",
       "Record", needs="task", word="record", also="transcript conversation history session"),
    _a("tasks", "sort", "equals_sign", "Sort: own order, urgency, due date, age or agent", "Sort",
       also="order priority arrange"),
    _a("tasks", "mark", "v", "Mark the task, or unmark it; Esc unmarks all", "Mark", verb="mark", also="select unmark"),
    _a("tasks", "mark_all", "V", "Mark from the last mark to here; else all, or none", verb="mark all",
       also="select all range visual"),
    _w("tasks", "delete", "d", "Delete the task; asks about marked ones and an agent's work",
       "Delete", needs="task", verb="delete", also="remove trash"),
    _a("tasks", "copy", "Y", "Copy the task's id or its Markdown", "Copy", needs="task", verb="copy", also="yank"),
    _w("tasks", "move_down", "J", "Move the task down, or all that are marked", "Move down",
       needs="task", verb="move it", also="order reorder lower later"),
    _w("tasks", "move_up", "K", "Move the task up, or all that are marked", "Move up",
       needs="task", verb="move it", also="order reorder higher earlier"),
    _w("tasks", "card_left", "H", "Move the card to the left", needs="task", verb="move it", also="status"),
    _w("tasks", "card_right", "L", "Move the card to the right", "Move", needs="task", verb="move it", also="status"),
    _a("tasks", "column_left", "h,left", "Column to the left", verb="left"),
    _a("tasks", "column_right", "l,right", "Column to the right"),
    _w("tasks", "checks", "", "Checks of the task: set, remove or run them", "Checks", needs="task", word="checks",
       also="tests proof verify"),
    _w("tasks", "move_to_list", "", "Move the task to another list", needs="task", word="move", also="send"),
    _a("tasks", "open_links", "", "Open the task's links: branch, commit, pull request, file",
       "Links", needs="task", word="links", also="git url pr"),
    _w("tasks", "take_back", "", "Revert the last deletion in this list, by anybody", "Revert", word="revert",
       also="undo restore undelete"),
    # The log.
    _a("log", "log_open", "enter", "Open the entry; again: its task", "Open", needs="entry", verb="open"),
    _a("log", "log_filter", "slash", "Filter as you type: agent:, kind:, list: and words", "Filter", verb="filter",
       also="search find"),
    _a("log", "log_follow", "f", "Follow: keep the newest entry on screen", "Follow", verb="follow", also="tail"),
    _a("log", "log_copy", "Y", "Copy the entry", "Copy", needs="entry", verb="copy", also="yank"),
    _w("log", "log_take_back", "", "Revert the change of this entry, by anybody",
       "Revert", needs="entry", word="revert", also="undo revert agent"),
    _a("log", "log_export", "", "Export the log: Markdown or JSON lines", "Export", word="export", also="save"),
    _w("log", "log_compact", "", "Compact the journal: drop its oldest entries", word="compact", also="prune"),
    # The inbox; agents that ask can be answered among the agents too.
    *(
        _w("inbox", f"ask_{number}", str(number), f"Answer with option {number}", needs="ask", verb="number")
        for number in range(1, 10)
    ),
    _w("inbox", "ask_approve", "y", "Allow", "Allow", needs="ask", verb="approve", also="yes approve accept"),
    _w("inbox", "ask_no", "", "Answer no at once, without a reason", "No", needs="ask", word="no", habit="n",
       also="deny refuse reject"),
    _w("inbox", "ask_deny", "x", "Deny, and say why", "Deny", needs="ask", verb="refuse", also="no refuse reject"),
    _w("inbox", "ask_reply", "m", "Reply in your own words", "Reply", needs="ask", verb="write", also="answer"),
    _w("inbox", "ask_edit", "e", "Edit the input of the tool; y then allows it", "Edit", needs="ask", verb="edit"),
    _a("inbox", "ask_later", "z", "Put the question off, in the inbox alone", "Later", needs="ask",
       also="snooze defer"),
    _a("inbox", "ask_open", "enter", "Send chosen options, else open the task; answered: go on", "Open", verb="open"),
    _a("inbox", "ask_before", "h,left", "Back to the question that you answered last",
       "Before", needs="ask", verb="left"),
    _a("inbox", "ask_after", "l,right", "Forward again to the next question", needs="ask", verb="column_right"),
    _w("inbox", "ask_always", "", "Allow always, as the program suggests", "Always", needs="ask", word="always",
       also="permission rule"),
    _w("app agents inbox", "ask_rule", "", "Make a rule from an answer that you gave three times", "Rule", word="rule",
       also="standing answer always allow deny permission"),
    _w("inbox", "ask_all", "", "Settle all questions of the agent: answer or withdraw them",
       "Settle all", needs="agent", word="settle"),
    _a("inbox", "inbox_part", "tab", "Go to the next kind: questions, agents, checks, work", "Next kind", verb="part"),
    _w("inbox", "review_accept", "y", "Accept the task", "Accept", needs="held", verb="approve"),
    _w("inbox", "review_edit", "e", "Edit the task, then accept it", "Edit", needs="held", verb="edit"),
    _w("inbox", "review_decline", "x", "Decline, and say why", "Decline", needs="held", verb="refuse"),
    _w("inbox", "review_join", "", "Join it to a duplicate", "Join", needs="held", word="join"),
    _a("inbox", "review_mark", "v", "Mark the task", "Mark", needs="held", verb="mark"),
    _a("inbox", "review_mark_all", "V", "Mark from the last mark to here; else all, or none",
       needs="held", verb="mark all"),
    _a("inbox", "review_filter", "slash", "Filter as you type", "Filter", verb="filter"),
    _a("inbox", "review_open", "enter", "Show the task in full", "Open", needs="held", verb="open"),
    _a("inbox", "failed_open", "enter", "Show the task in full", "Open", needs="failed", verb="open"),
    _w("inbox", "failed_run", "r", "Run the checks again", "Run again", needs="failed", verb="run", also="retry"),
    _w("inbox", "failed_done", "s", "Set the task done without proof", "Done anyway", needs="failed", verb="status"),
    _a("inbox", "left_open", "enter", "Show the task in full", "Open", needs="left", verb="open"),
    _w("inbox", "left_give_back", "s", "Give the task back", "Give back", needs="left", verb="status"),
    _a("inbox", "work_review", "enter", "Review the work", "Review", needs="work", verb="open", also="diff merge"),
    _a("inbox", "stuck_open", "enter", "Show it in Agents", "Agents", needs="stuck", verb="open"),
    _w("inbox", "stuck_give_back", "s", "Give the task back", "Give back", needs="stuck", verb="status"),
    _w("inbox", "stuck_start", "W", "Start another agent on the task", "Work", needs="stuck", verb="work_start"),
    _a("inbox", "wanted_open", "enter", "Show the task in full", "Open", needs="task", verb="open"),
    _w("inbox", "wanted_status", "s", "Set the status of the task", "Status", needs="task", verb="status"),
    _w("inbox", "wanted_start", "W", "Start an agent on the task", "Work", needs="task", verb="work_start"),
    _a("inbox", "wanted_runs", "enter", "The job's runs and their output", "Runs", needs="job", verb="open"),
    _w("inbox", "wanted_run", "r", "Run the job now", "Run now", needs="job", verb="run"),
    _a("inbox", "dismiss", "full_stop", "Dismiss the row until it needs you again", "Dismiss", verb="seen"),
    # Agents, and the agent of what is under the cursor of the inbox.
    _w("agents", "agent_message", "m", "Write a message to the agent", "Message", needs="agent", verb="write",
       also="tell say talk chat"),
    _w("agents", "agent_pause", "P", "Pause the agent, or resume it", "Pause", needs="agent",
       also="stop hold continue"),
    _a("agents", "agent_log", "enter", "Its work if that is ready, else its terminal, else its log",
       "Its log", needs="agent", verb="open", also="attach review merge diff"),
    _a("agents", "agent_peek", "space", "Peek: the last lines of the agent, live", "Peek", needs="agent", verb="peek",
       also="terminal watch look"),
    _a("work", "peek_terminal", "enter", "Go to the agent's terminal", "Terminal", verb="open", also="attach"),
    _a("work", "peek_back", "space", "Close the last lines or the record", "Close", verb="peek"),
    _a("work", "peek_record", "tab", "The agent's own record, or the lines of its terminal", "Record", verb="part"),
    # The record of an agent's session.
    _a("work", "record_open", "enter", "Show all of the item, or its beginning", "Whole", verb="open"),
    _a("work", "record_follow", "f", "Follow the newest item", "Follow", verb="follow", also="tail"),
    _a("work", "record_search", "slash", "Show only items with some words", "Search", verb="filter", also="find"),
    # The review of work.
    _a("work", "work_diff", "enter", "Into the diff, or back to the files", "Diff", verb="open"),
    _a("work", "work_part", "tab", "Files, or the diff", "Diff", verb="part"),
    _a("work", "work_left", "h,left", "Back to the files", verb="left"),
    _a("work", "work_right", "l,right", "Into the diff", verb="column_right"),
    _a("work", "work_find", "slash", "Find a file by its name, or words in the diff", "Find", verb="filter"),
    _w("work", "work_accept", "y", "Accept the work: merge it as it is shown", "Accept", verb="approve", habit="a",
       also="merge squash rebase approve yes"),
    _w("work", "work_run", "r", "Run the checks on this tree", "Run checks", verb="run", also="retry tests"),
    _w("work", "work_comment", "c", "Comment on the line, or on the file", "Comment", also="review remark note"),
    _w("work", "work_send", "s", "Send all comments, or a conflict, to the agent", "Send", verb="status",
       also="send back reject change"),
    _w("work", "work_discard", "x", "Discard the work", "Discard", verb="refuse", also="reject drop throw away"),
    _w("work", "work_pull_request", "p", "Open a pull request", "Pull request", also="gh github push pr"),
    _a("work", "work_terminal", "t", "Switch to the agent's terminal", "Terminal", verb="switch", also="attach"),
    _a("work", "work_next", "right_square_bracket", "The next work on the task, of another agent", verb="turn"),
    _a("work", "work_previous", "left_square_bracket", "The previous work on the task, of another agent", verb="turn"),
    _a("agents", "agent_record", "", "The agent's own record: prompts, words, tools, edits",
       "Record", needs="agent", word="record of the agent", also="transcript conversation history session"),
    _a("agents", "agent_ask", "a", "The agent's question in the inbox, whole", "Question", verb="answer"),
    _w("agents", "agent_stop", "x", "End the agent's turn", "End turn", needs="agent", verb="refuse",
       also="kill interrupt stop"),
    _w("agents", "agent_give_back", "s", "Give the agent's task back: pending, without an agent",
       "Give back", needs="agent", verb="status", also="release unclaim"),
    _w("agents", "agent_take_back", "", "Revert the changes of the agent since a time",
       "Revert", needs="agent", word="revert", also="undo revert an agent"),
    # The schedule, and the runs of a job.
    _a("jobs", "job_runs", "enter", "The job's runs and their output", "Runs", needs="job", verb="open"),
    _a("jobs", "job_filter", "slash", "Filter the jobs as you type", "Filter", verb="filter", also="search"),
    _w("jobs", "job_new", "n", "New job", "New", verb="new", also="add create schedule cron"),
    _w("jobs", "job_run", "r", "Run the job now", "Run now", needs="job", verb="run", also="start"),
    _w("jobs", "job_toggle", "t", "Switch the job on or off", "On/off", needs="job", verb="switch",
       also="enable disable"),
    _w("jobs", "job_edit", "e", "Edit the job", "Edit", needs="job", verb="edit", also="cron prompt change"),
    _w("jobs", "job_stop", "x", "End the job's run", "End run", needs="run", verb="refuse", also="kill stop"),
    _w("jobs", "job_delete", "d", "Delete the job", "Delete", needs="job", verb="delete", also="remove"),
    _a("jobs", "job_copy", "Y", "Copy the job's id, name or prompt", "Copy", needs="job", verb="copy"),
    _w("jobs", "job_run_with", "", "Run the job with input for this run", needs="job", word="run with"),
    _a("jobs", "run_output", "enter", "Output, or back to the runs", "Output", verb="open"),
    _a("jobs", "run_follow", "f", "Follow the output, or stop following", "Follow", verb="follow", also="tail"),
    _w("jobs", "run_stop", "x", "End the run", "End run", needs="run", verb="refuse", also="kill stop"),
    _a("jobs", "run_copy", "Y", "Copy the run's output", "Copy", needs="any run", verb="copy"),
)  # fmt: skip

ACTIONS: Final[dict[str, Action]] = {action.id: action for action in _TABLE}


def bindings(*scopes: str) -> list[Binding]:
    """Return the bindings of the scopes' actions, for a class's BINDINGS."""
    return [
        Binding(action.all_keys or NO_KEY, f"act('{action.id}')", action.title, show=False, id=action.id)
        for action in ACTIONS.values()
        if not action.scopes.isdisjoint(scopes)
    ]
