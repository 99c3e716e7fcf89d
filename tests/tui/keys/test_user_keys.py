import importlib
import pkgutil

import pytest

import tui_tasks.tui
from tests.tui.driving import opened, said, settle, shown, until
from tests.tui.plan import NOW, ZONE
from tests.tui.work.test_work_screen import begun
from tui_tasks.settings.config import Config
from tui_tasks.tui.app.frame import Frame
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.keys import user_keys
from tui_tasks.tui.keys.action_table import ACTIONS, SCOPES
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.painting.text_lines import ScrollLines
from tui_tasks.tui.screens.picker import EntriesFound, PaletteEntry
from tui_tasks.tui.state.past_link import PastLink
from tui_tasks.tui.tasks.links import LinkText
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.work.peek_screens import Peek, TranscriptScreen
from tui_tasks.tui.work.review_screen import ReviewScreen


def actors():
    for module in pkgutil.walk_packages(tui_tasks.tui.__path__, "tui_tasks.tui."):
        importlib.import_module(module.name)
    found, ahead = [], [Actor]
    while ahead:
        kind = ahead.pop()
        found.append(kind)
        ahead += kind.__subclasses__()
    return found


@pytest.mark.parametrize("kind", actors(), ids=lambda kind: kind.__name__)
def test_what_is_at_hand_together_is_known_to_the_keymap(kind):
    assert any(set(kind.SCOPES) <= group for group in user_keys.TOGETHER)


# Keys that do one thing in several directions count once, and so do two keys of one action.
FAMILIES = (
    "1 2 3 4 5 6 7 8 9",
    "h j k l left down up right",
    "g home G end",
    "ctrl+d pagedown ctrl+u pageup",
    "H J K L",
    "left_square_bracket right_square_bracket",
    "less_than_sign greater_than_sign left_curly_bracket right_curly_bracket",
    "colon ctrl+p",
    "question_mark f1",
)


def keys_of(action):
    return [key for key in action.keys.split(",") if key]


def test_there_are_at_most_45_keys_in_8_scopes():
    family = {key: keys for keys in FAMILIES for key in keys.split()}
    keys = {family.get(key, key) for action in ACTIONS.values() for key in keys_of(action)}
    assert len(keys) <= 45, sorted(keys)
    assert {scope for action in ACTIONS.values() for scope in action.scopes} <= set(SCOPES)
    assert len(SCOPES) <= 8


def test_a_key_means_the_same_everywhere():
    meanings = {}
    for action in ACTIONS.values():
        for key in keys_of(action):
            meanings.setdefault(key, set()).add(action.verb)
    assert {key: verbs for key, verbs in meanings.items() if len(verbs) > 1} == {}


def test_an_action_without_a_key_has_a_word_that_the_palette_finds_it_by():
    for action in ACTIONS.values():
        assert bool(action.keys) != bool(action.word), action.id
        if action.word:
            entries = [PaletteEntry(each.title, words=each.also, word=each.word) for each in ACTIONS.values()]
            first = EntriesFound(entries, action.word).first(1)[0].entry
            assert first.word == action.word


def test_the_palette_finds_a_list_by_its_name_before_the_words_of_actions():
    actions = [PaletteEntry(each.title, words=each.also, word=each.word) for each in ACTIONS.values()]
    for name in ("later", "new", "move"):
        found = EntriesFound([*actions, PaletteEntry(f"List: {name}")], name).first(2)
        assert f"List: {name}" in [row.entry.title for row in found], name
    assert EntriesFound([*actions, PaletteEntry("List: later")], "later").first(1)[0].entry.title == "List: later"


def test_dangerous_actions_have_no_key():
    dangerous = {"log_compact", "this_list", "take_back", "log_take_back", "agent_take_back", "ask_all", "ask_always"}
    assert {name for name in dangerous if ACTIONS[name].keys} == set()


async def test_every_action_is_done_by_somebody_and_whoever_binds_a_key_to_one_does_it(jobs, app, plan):
    """On all panes and all screens, as they are when they are shown."""
    async with opened(app) as pilot:
        done, shown = set(), set()

        async def look(*keys):
            await settle(pilot, *keys)
            for actor in (app, app.screen, *app.screen.walk_children()):
                if not isinstance(actor, Actor):
                    continue
                offered = {action.id for action in actor.offers()}
                done.update(offered)
                shown.add(type(actor))

        for keys in (
            ("1", "2", "3", "4"),
            ("a",),
            ("escape", "A"),
            ("escape", "S"),
            ("escape", "D"),
            ("escape", "4", "enter"),
        ):
            for key in keys:
                await look(key)
        app.push_screen(LinkText(app.context, "branch phone", "log", "git switch phone"))
        await look()
        app.push_screen(Peek(app.context, "claude-1"))
        await look()
        app.push_screen(TranscriptScreen(app.context, "claude-1"))
        await look()
        begun(plan, 9)
        app.push_screen(ReviewScreen(app.context, plan[9]))
        await look()
    past = TaskApp(PastLink(plan.path, "12", clock=lambda: NOW), zone=ZONE)
    async with opened(past):
        assert {action.id for action in past.offers()} > {action.id for action in app.offers()}
        done.update(action.id for action in past.offers())
    assert done == set(ACTIONS)
    assert {kind for kind in actors() if "BINDINGS" in vars(kind)} <= shown | {Overlay, ScrollLines, TaskApp}


@pytest.mark.parametrize(
    ("written", "named"),
    [("x", "x"), ("X", "X"), ("?", "question_mark"), ("^p", "ctrl+p"), ("ctrl+p, /", "ctrl+p,slash"), (" , ", "")],
)
def test_keys_are_written_as_people_write_them(written, named):
    assert user_keys.as_textual(written) == named


def test_unknown_ids_empty_keys_and_clashes_are_told():
    wrong = user_keys.wrong({"nope": "x", "new": "", "undo": "d", "redo": "Q"})
    assert set(wrong) == {"nope", "new", "undo"}
    assert "delete" in wrong["undo"]


def test_a_key_that_works_without_being_shown_clashes_too_and_only_the_review_has_one():
    assert [action.id for action in ACTIONS.values() if action.habit and action.keys] == ["work_accept"]
    assert "work_accept" in user_keys.wrong({"work_comment": "a"})["work_comment"]


def test_keys_that_change_places_do_not_clash():
    assert user_keys.wrong({"new": "e", "edit": "n"}) == {}


async def test_an_id_that_went_keeps_its_key_and_is_told_once_with_what_is_new(plan, make_app):
    assert user_keys.wrong({"card_down": "z"}) == {}
    for told in (True, False):
        app = make_app(plan.path, config=Config(keys={"card_down": "Q"}))
        async with opened(app, (120, 24)) as pilot:
            await settle(pilot)
            assert app.context.keymap.key_of("move_down") == "Q"
            assert ("card_down is move_down now" in said(app)) == told


async def test_an_action_without_a_key_gets_one_from_the_settings(plan, make_app):
    app = make_app(plan.path, pane="log", config=Config(keys={"log_compact": "C"}))
    async with opened(app) as pilot:
        await settle(pilot, "C")
        assert "Drop entries older than" in shown(app)


async def test_a_remapped_key_does_it_and_the_old_one_does_not(plan, make_app):
    app = make_app(plan.path, config=Config(keys={"down": "x", "quit": "Q"}))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("j", "q")
        assert app.pane.row_list.cursor == plan[1]
        await pilot.press("x")
        assert app.pane.row_list.cursor == plan[2]
        assert app.context.keymap.key_of("quit") == "Q"


async def test_what_is_wrong_with_the_configuration_is_said_at_the_start(plan, make_app):
    app = make_app(plan.path, problems=["config.toml:3: no action 'nope'", "another"])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.query_one("#foot").message == "config.toml:3: no action 'nope'   (and 1 more: tui-tasks config)"


@pytest.mark.parametrize("width", [120, 40])
async def test_a_broken_theme_that_is_asked_for_is_told_and_breaks_nothing(
    plan, make_app, tmp_path, monkeypatch, width
):
    told = []
    monkeypatch.setattr(Frame, "say", lambda frame, text: told.append(text))
    (tmp_path / "mine.toml").write_text("[colors\n")
    app = make_app(plan.path, config=Config(theme="mine"), user_themes=tmp_path, problems=["config.toml:3: what"])
    async with app.run_test(size=(width, 24)) as pilot:
        assert app.theme == "dark"
        await until(pilot, lambda: len(told) == 2)
    where = f"{tmp_path}/mine.toml" if width == 120 else "mine.toml"
    assert told[0] == "config.toml:3: what"
    assert told[1].startswith(f"{where}:1: Expected")
    assert told[1].endswith("(and 2 more: tui-tasks config)")


EVERYWHERE = {
    "1": "pane_list", "2": "pane_board", "3": "pane_log", "4": "pane_schedule",
    "question_mark": "help", "q": "quit", "ctrl+p": "palette", "colon": "palette",
    "a": "asks", "A": "agents", "D": "digest", "S": "stats", "u": "undo", "ctrl+r": "redo",
    "exclamation_mark": "attention", "full_stop": "seen",
}  # fmt: skip
ROWS = {
    "j": "down", "down": "down", "k": "up", "up": "up", "g": "first", "G": "last",
    "ctrl+d": "page_down", "ctrl+u": "page_up",
}  # fmt: skip
TASKS = {
    "enter": "open", "escape": "back", "slash": "filter", "n": "new", "e": "edit",
    "E": "edit_in_editor", "s": "status", "v": "mark", "V": "mark_all", "d": "delete", "m": "note", "Y": "copy",
}  # fmt: skip
AGENT = {"P": "agent_pause", "escape": "back"}
KEYS = {
    "1": EVERYWHERE | ROWS | TASKS | {"J": "move_down", "K": "move_up"},
    "2": EVERYWHERE | ROWS | TASKS
    | {"h": "column_left", "left": "column_left", "l": "column_right", "right": "column_right"}
    | {"H": "card_left", "L": "card_right", "J": "move_down", "K": "move_up"},
    "3": EVERYWHERE | ROWS
    | {"f": "log_follow", "enter": "log_open", "escape": "back", "slash": "log_filter", "Y": "log_copy"},
    "4": EVERYWHERE | ROWS
    | {"r": "job_run", "t": "job_toggle", "n": "job_new", "e": "job_edit", "enter": "job_runs", "d": "job_delete"}
    | {"slash": "job_filter", "Y": "job_copy", "x": "job_stop"},
    "a": ROWS | AGENT | {"y": "ask_approve", "x": "ask_deny", "m": "ask_reply", "z": "ask_later", "enter": "ask_open"},
    "A": ROWS | AGENT | {"space": "agent_peek"}
    | {"enter": "agent_log", "m": "agent_message", "x": "agent_stop", "y": "ask_approve"},
}  # fmt: skip


async def test_each_key_is_bound_where_it_is_told_of_to_an_action_that_is_done_there(plan, jobs, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        for place, keys in KEYS.items():
            await settle(pilot, "escape", place)
            bound = app.screen.active_bindings
            acts = {key: bound[key].binding.action for key in keys if key in bound}
            assert acts == {key: f"act('{name}')" for key, name in keys.items()}, place
            assert all(ACTIONS[name] in bound[key].node.offers() for key, name in keys.items()), place


async def test_tab_goes_from_the_list_to_the_detail_and_back(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "tab")
        assert app.pane.detail.has_focus_within
        await settle(pilot, "tab")
        assert app.focused is app.pane.row_list


def test_keys_are_told_as_they_are_typed():
    named = [user_keys.show_key(each.keys.split(",")[0]) for each in ACTIONS.values() if each.keys]
    assert "." in named
    assert "full_stop" not in named
