"""The help: where one is comes first, it is searched by people's words, and its legend has every glyph and colour."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
import sys
import unicodedata
from html import unescape
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.tui.driving import SIZES, below, lines, named, opened, order, said, settle, shown, until, write
from tests.tui.stories.conftest import SCREENSHOTS
from tui_tasks import text, tui
from tui_tasks.core import vocab
from tui_tasks.text.glyphs import AGENT_LOOKS, LOOKS, PROOF_LOOKS, SIGNS
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.keys.action_table import ACTIONS
from tui_tasks.tui.log import log_text
from tui_tasks.tui.painting.styles import STATES
from tui_tasks.tui.screens.palette import legend


async def test_the_help_begins_with_where_one_is(app):
    async with opened(app, (80, 24)) as pilot:
        for key, here in (("1", "list"), ("2", "board"), ("4", "schedule"), ("a", "inbox")):
            await settle(pilot, key, "question_mark")
            entries = app.screen.window.source.first(4)
            assert entries[0].entry.title == f"Here: {here}"
            assert not entries[1].entry.why_not
            await settle(pilot, "escape")


async def test_the_help_finds_by_what_a_person_would_call_it(app):
    searches = (
        ("due", "Edit the task here, or fields of all that are marked"),
        ("tag", "Edit the task here, or fields of all that are marked"),
        ("sort", "Sort: own order, urgency, due date, age or agent"),
        ("merge", "Inbox: all that needs you"),
        ("legend", "a message in the log"),
        ("remove", "Delete the task; asks about marked ones and an agent's work"),
        ("claude", "Agents: what each does, and what it waits for"),
        ("yank", "Copy the task's id or its Markdown"),
    )
    async with opened(app) as pilot:
        for words, title in searches:
            await settle(pilot, "question_mark")
            await write(pilot, words)
            await settle(pilot)
            assert title in shown(app), words
            while len(app.screen_stack) > 1:
                await settle(pilot, "escape")


async def test_the_key_that_quits_closes_the_help_and_a_word_typed_on_presses_no_key(app, plan):
    app.key_queue.clock = lambda: 0.0
    async with opened(app) as pilot:
        await settle(pilot, "n", *"One more", "enter", "escape", "question_mark")
        assert "q Esc Close" in shown(app)
        await settle(pilot, *"quit")
        assert len(app.screen_stack) == 1 and app.is_running and "One more" in order(app)
        await settle(pilot, "question_mark", *"eq")
        assert app.screen.query_one(Input).value == "eq"


WORDS = """
due tag sort unmark restart legend rename assign delete remove copy paste quit exit close undo search find priority
merge approve deny
logs ns ctx pods config settings hide show
message talk kill stop pause project switch theme dark colour mark select archive export colors calendar reopen logout
"""


async def test_help_and_palette_find_something_for_every_word_of_a_beginner(app):
    async with opened(app) as pilot:
        for opener in ("question_mark", "colon"):
            await settle(pilot, opener)
            for word in WORDS.split():
                app.screen.query_one(Input).value = word
                await settle(pilot)
                assert app.screen.window.row is not None, (opener, word)
            await settle(pilot, "escape", "escape")


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_legend_has_every_glyph_and_every_colour_of_a_state(ascii_only):
    marks = {line.mark for line in legend(ascii_only=ascii_only)}
    looks = [*LOOKS.values(), *PROOF_LOOKS.values()]
    assert {look.mark(ascii_only=ascii_only) for look in looks} <= marks
    assert {SIGNS[name][ascii_only] for name in SIGNS} <= marks
    assert {mark.mark for mark in log_text.LOG_MARKS.values() if len(mark.mark) == 1} <= marks
    colors = {line.color.partition(" ")[0] for line in legend(ascii_only=ascii_only)}
    assert {f"$state-{state}" for state in STATES} | {"$changed", "$muted", "$primary", "$rule"} <= colors
    assert all(line.words for line in legend(ascii_only=ascii_only))


def test_the_legend_shows_an_agent_that_left_something_undone_as_its_row_does():
    (line,) = (line for line in legend(ascii_only=False) if line.words.startswith("agent gone"))
    assert (line.mark, line.color) == (AGENT_LOOKS["left"].glyph, AGENT_LOOKS["left"].color)


def test_the_legend_has_every_glyph_that_the_screen_draws():
    marks = {char for line in legend(ascii_only=False) for char in line.mark}
    # A line over whole widths, and characters that are replaced, are no glyphs with a meaning.
    left_out = {"safe.py", "styles.py"}
    files = [*Path(tui.__file__).parent.rglob("*.py"), *Path(text.__file__).parent.rglob("*.py")]
    for file in files:
        for char in set(_strings(file)) if file.name not in left_out else ():
            if unicodedata.category(char) in ("So", "Sm") and not char.isascii():
                assert char in marks, f"{char} of {file.name}"


def test_the_legend_has_every_glyph_of_the_pictures():
    marks = {char for line in legend(ascii_only=False) for char in line.mark}
    pictures = [
        path for path in SCREENSHOTS.glob("*.svg") if not path.name.startswith("work-peek")
    ]  # of another program
    assert pictures
    for picture in pictures:
        drawn = re.findall(r'<text class="[^"]*-r\d+"[^>]*>(.*?)</text>', picture.read_text(encoding="utf-8"))
        shown = {
            char
            for char in unescape("".join(drawn))
            if not char.isascii() and unicodedata.category(char)[0] not in "LZ"
        }
        assert shown <= marks | set("“”"), (picture.name, shown - marks)


async def test_the_legend_says_how_an_agent_that_waits_differs_from_one_that_asks(app):
    async with opened(app) as pilot:
        await settle(pilot, "question_mark")
        await write(pilot, "until you answer")
        await settle(pilot)
        assert "agent waiting: stands still until you answer" in shown(app)
        assert "before a question: its agent works on until you answer" in shown(app)
        assert {look.mark() for look in AGENT_LOOKS.values()} <= {line.mark for line in legend(ascii_only=False)}


def _strings(file):
    """The characters of the strings of a file, without those of docstrings."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs)
    return "".join(node.value for node in constants if isinstance(node.value, str))


async def test_the_palette_finds_first_what_a_word_means(app):
    meant = (
        *((word, "Quit", "") for word in ("q", "q!", "wq", "x")),
        ("save", "Save", "every change is saved at once"),
        ("w", "Save", "every change is saved at once"),
        ("refresh", "Refresh", "follows every change by itself"),
        ("settings", "Settings: what is in force", ""),
        ("config", "Settings: what is in force", ""),
        ("logs", "Go to the log", ""),
        ("ns", "Projects: go to one", ""),
        ("ctx", "Projects: go to one", ""),
        ("pods", "Agents: what each does", ""),
        ("hide done", "Hide done: show open tasks only", ""),
        ("show done", "Show done: show tasks of every status", ""),
        ("quit", "Quit", ""),
        ("new", "New task below", ""),
        ("colors", "Theme: ", ""),
        ("stop agent", "Agents", ""),
        ("mark done", "Status", ""),
        ("reopen", "Status", ""),
    )
    async with opened(app) as pilot:
        await settle(pilot, "colon")
        for typed, title, says in meant:
            await write(pilot, typed)
            await settle(pilot)
            entry = app.screen.window.row.entry
            assert entry.title.startswith(title) and says in entry.why_not, typed
            await settle(pilot, "ctrl+u")


async def test_f1_opens_the_help(app):
    async with opened(app) as pilot:
        await settle(pilot, "f1")
        assert "Here: list" in shown(app)


async def test_hide_done_and_show_done_set_and_clear_the_filter_of_open_tasks_and_say_so(app, plan):
    async with opened(app) as pilot:
        every = order(app)
        await settle(pilot, *named("hide done"))
        assert said(app) == "Only open tasks are shown, by the filter status:open. : show done shows all again."
        assert app.pane.filter_bar.text == "status:open"
        assert all("Inventory GA usage" not in line for line in below(app))
        await settle(pilot, *named("hide done"))
        assert said(app) == "Done tasks are hidden already: : show done shows them."
        await settle(pilot, *named("show done"))
        assert said(app) == "Tasks of every status are shown again." and not app.pane.filter_bar.is_open
        assert order(app) == every
        await settle(pilot, *named("show done"))
        assert said(app) == "Done tasks are not hidden: : hide done hides them."
        await settle(pilot, "slash", *"auth", "enter", *named("hide done"), *named("show done"))
        assert app.pane.filter_bar.text == "auth", "other words of the filter stay"


async def test_the_settings_name_each_value_and_where_it_comes_from_and_enter_edits_their_file(
    plan, make_app, monkeypatch, tmp_path
):
    file, editor = tmp_path / "config.toml", tmp_path / "editor.py"
    file.write_text('theme = "dark"\nbell = false\n\n[sessions]\nkeep = "titles"\n')
    file.chmod(0o600)
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(file))
    editor.write_text("import sys; file = open(sys.argv[1], 'a'); file.write('surprise = 1\\n')")
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(editor)]))
    monkeypatch.setattr(TaskApp, "suspend", contextlib.nullcontext)
    app = make_app(plan.path)
    async with opened(app, (120, 50)) as pilot:
        await settle(pilot, *named("settings"))
        rows = {line.lstrip(" >").split(" = ")[0]: line for line in lines(app) if " = " in line}
        assert re.search(r'theme = "dark" +The theme; .* config\.toml:1$', rows["theme"].rstrip())
        assert rows["bell"].rstrip().endswith("this start, then false"), "the screen began with another"
        assert rows["notify"].rstrip().endswith("default")
        assert re.search(r'keep = "titles" .* config\.toml:5$', rows["sessions.keep"].rstrip())
        assert [name for name in rows if "Open questions of one agent" in rows[name]] == ["asks.limit"]
        await settle(pilot, "G")
        assert any(line.startswith(" > work") for line in lines(app)), "it scrolls"
        await settle(pilot, "enter")
        await until(pilot, lambda: said(app).startswith("Saved, but ") and "no setting surprise" in said(app))


async def test_a_slash_begins_a_search_in_the_help_and_is_a_key_alone(app):
    async with opened(app) as pilot:
        for typed, found in (("/mark", "mark"), ("/", "filter"), ("mark", "mark")):
            await settle(pilot, "question_mark", *typed)
            assert app.screen.window.row.entry.beside == found, typed
            while len(app.screen_stack) > 1:
                await settle(pilot, "escape")


async def test_the_palette_says_where_an_action_of_another_place_is(app):
    actions = (
        ("export", "Export the log"),
        ("merge", "Accept the work: merge it"),
        ("undo agent", "Revert the changes of the agent"),
        ("undo an agent's changes", "Revert the changes of the agent"),
    )
    async with opened(app) as pilot:
        await settle(pilot, "colon")
        for typed, title in actions:
            await write(pilot, typed)
            await settle(pilot)
            (row,) = (line for line in shown(app).splitlines() if title in line)
            assert " in the " in row, typed
            await settle(pilot, "ctrl+u")


async def test_the_help_has_one_row_for_the_numbers_that_answer(app):
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "question_mark")
        entries = [row.entry for row in app.screen.window.source.first(1000)]
        assert {entry.key for entry in entries if entry.title in ("Go to the list", "Go to the log")} == {""}
        await write(pilot, "option")
        await settle(pilot)
        (row,) = (line for line in shown(app).splitlines() if "Answer with" in line)
        assert "1–9" in row and "the option of that number" in row


@pytest.mark.parametrize("size", SIZES)
async def test_the_help_lists_what_cannot_be_done_now_behind_what_can_and_cuts_no_reason(app, size):
    async with opened(app, size) as pilot:
        await settle(pilot, "a", "question_mark")
        entries = [row.entry for row in app.screen.window.source.first(1000)]
        heads = [entry.title for entry in entries if entry.heading and entry.title]
        assert heads[:3] == ["Here: inbox", "Everywhere", "Not now: Enter says why"]
        now = entries[: [entry.title for entry in entries].index(heads[2])]
        assert not [entry.title for entry in now if entry.why_not and "watch --at" not in entry.why_not]
        await write(pilot, "mark")
        await settle(pilot)
        rows = [line for line in shown(app).splitlines() if "Mark the task" in line or "Mark from" in line]
        assert rows and all("Only" not in row or "can be marked" in row or "Only in the" in row for row in rows)


@pytest.mark.parametrize("size", SIZES)
async def test_the_id_of_an_action_stands_beside_the_cursor_and_beside_all_where_ids_are_asked_for(app, size):
    def ids():
        return {name for name in ACTIONS if re.search(rf" {name} *(▐ ?)?$", shown(app), re.MULTILINE) and "_" in name}

    async with opened(app, size) as pilot:
        await settle(pilot, "question_mark")
        first = app.screen.window.row.entry
        assert ids() <= {first.beside}
        for typed, found in (("keymap filter", {"log_filter"}), ("log_filter", {"log_filter"}), ("filter", set())):
            await write(pilot, typed)
            await settle(pilot)
            shown_ids = ids() - {app.screen.window.row.entry.beside}
            assert size[0] < 60 or (bool(shown_ids) or "log_filter" in shown(app)) is bool(found), typed
            await settle(pilot, "ctrl+u")


@pytest.mark.parametrize(("size", "has_blank"), [((120, 40), True), ((80, 24), True), ((40, 12), False)])
async def test_an_empty_line_parts_the_groups_of_the_help_where_there_is_room_and_the_cursor_skips_it(
    app, size, has_blank
):
    async with opened(app, size) as pilot:
        await settle(pilot, "question_mark")
        entries = [row.entry for row in app.screen.window.source.first(1000)]
        at = next(at for at, entry in enumerate(entries) if entry.title == "Everywhere")
        assert (entries[at - 1].title == "") is has_blank
        await settle(pilot, *["down"] * (at - 1 - has_blank))
        assert app.screen.window.row.entry is entries[at + 1]
        await settle(pilot, "up")
        assert app.screen.window.row.entry is entries[at - 1 - has_blank]


async def test_in_the_list_a_key_of_cards_is_said_to_be_of_the_board(app):
    async with opened(app) as pilot:
        await settle(pilot, "question_mark")
        await write(pilot, "move card")
        await settle(pilot)
        rows = [line for line in shown(app).splitlines() if "Move the card" in line]
        assert len(rows) == 2 and all("Only in the board." in row for row in rows)


def test_the_help_of_the_status_names_each_status():
    named = {"in_progress": "started"}
    assert all(named.get(status, status) in ACTIONS["status"].title for status in vocab.STATUSES)


def test_at_80_columns_the_help_cuts_the_title_of_no_action():
    # What is left beside the widest keys, the cursor and the gaps.
    assert [action.id for action in ACTIONS.values() if cell_len(action.title) > 80 - 14 - 7] == []


async def test_the_help_of_the_digest_begins_with_the_key_that_its_foot_begins_with(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "D")
        assert lines(app)[-1].startswith(" Enter Entries ")
        await settle(pilot, "question_mark")
        assert re.search(r"Here: digest.*\n > Enter +Open the entries of the line", shown(app))


@pytest.mark.parametrize("size", SIZES)
async def test_the_setting_under_the_cursor_says_once_and_whole_what_it_does_but_behind_it_on_a_wide_screen(app, size):
    async with opened(app, size) as pilot:
        await settle(pilot, *named("settings"))
        await settle(pilot, "j", "j")
        assert app.screen.window.row.entry.words == "quiet_after"
        assert "Seconds of silence after which an agent of the channel is quiet." in " ".join(shown(app).split())
        assert (app.screen.query_one("#about").region.height > 0) == (size[0] < 100)


async def test_the_word_theme_opens_the_choice_of_themes_and_applies_none(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        before = app.theme
        await settle(pilot, "colon", *"theme", "enter")
        assert "Themes: choose one" not in shown(app) and "Theme: ansi" in shown(app)
        await settle(pilot, "escape")
        assert app.theme == before
