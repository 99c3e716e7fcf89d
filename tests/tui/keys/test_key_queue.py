"""Keys that come all at once, as from a fast typist or under load, do what they would have done one by one."""

import asyncio
import itertools
import re
from concurrent.futures import wait
from threading import Event

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.worker import WorkerFailed

from tests.started import DEADLINE
from tests.tui import idle
from tests.tui.driving import lines, place_of, said, until
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.inputs.line_inputs import AddWords
from tui_tasks.tui.keys import stray_words
from tui_tasks.tui.state import database_link
from tui_tasks.tui.tasks.add_actions import AddActions


@pytest.fixture(autouse=True)
def _writing_fast(monkeypatch):
    """Let the next key wait for the write of the one before on a busy machine too."""
    monkeypatch.setattr(database_link, "NOTICED", DEADLINE)


def type_at_once(app, *keys):
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def settled(app, pilot):
    for _ in range(3):
        await pilot.pause()
        await app.workers.wait_for_complete()


@pytest.fixture
def open_app(plan, make_app):
    return make_app(plan.path)


async def test_a_menu_takes_the_key_after_the_one_that_opened_it(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", "s", "p")
        await settled(open_app, pilot)
        task = task_queries.task(open_app.link.db, plan[1])
        assert task.status == "pending"


WHOLE_WORDS = {
    "done": "done",
    "pending": "pending",
    "in progress": "in_progress",
    "inprogress": "in_progress",
}


@pytest.mark.parametrize("word", WHOLE_WORDS)
async def test_the_rest_of_a_word_that_a_menu_has_chosen_by_its_first_letter_does_nothing(word, plan, open_app):
    app, now = open_app, [0.0]
    app.key_queue.clock = lambda: now[0]
    async with app.run_test(size=(120, 40)) as pilot:
        for end, place in (((), 8), (("enter",), 9)):
            app.context.navigation.go_to(plan[place])
            await settled(app, pilot)
            uid = app.pane.target()
            if word == "pending":
                type_at_once(app, "s", "d")
                await settled(app, pilot)
                now[0] += 1e9
            type_at_once(app, "s", *word, *end)
            await settled(app, pilot)
            db = app.link.db
            assert task_queries.task(db, uid).status == WHOLE_WORDS[word]
            assert app.pane.target() == uid and app.pane.row_list.has_focus
            assert len(app.screen_stack) == 1 and app.state.current_list.total == 9
            assert f"alone chooses “{word if word != 'inprogress' else 'in progress'}”" in said(app)
            now[0] += 1e9


async def test_no_is_not_the_beginning_of_a_command(plan, open_app):
    async with open_app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", *"vjvd", *"no", "enter")
        await settled(open_app, pilot)
        assert open_app.state.current_list.total == 9
        assert open_app.pane.row_list.has_focus and len(open_app.screen_stack) == 1


@pytest.mark.parametrize(("keys", "at"), [("sdj", 7), ("sdk", 5), ("sdgj", 2)])
async def test_a_command_right_after_a_choice_runs_at_once(keys, at, plan, open_app):
    app = open_app
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.context.navigation.go_to(plan[6])
        await settled(app, pilot)
        type_at_once(app, *keys)
        await settled(app, pilot)
        assert app.pane.row_list._cursor.line == at - 1
        assert "dropped" not in said(app)


async def test_a_letter_that_only_shows_something_runs_and_those_after_it_do_not(plan, open_app):
    app = open_app
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[8])
        await settled(app, pilot)
        type_at_once(app, "s", *"cancelled", "enter")
        await settled(app, pilot)
        assert isinstance(app.screen, Inbox)
        assert "dropped: ncelled" in said(app)


async def test_one_letter_of_the_word_that_writes_is_a_command_after_a_pause(plan, open_app, monkeypatch):
    app = open_app
    monkeypatch.setattr(stray_words, "_TYPING", 0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.context.navigation.go_to(plan[6])
        await settled(app, pilot)
        type_at_once(app, "v", "k", "v", "d", "y", "e")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        assert app.state.current_list.total == 7 and "dropped" not in said(app)


async def test_one_key_after_a_refused_one_acts_and_enter_at_once(plan, make_app, monkeypatch):
    app = make_app(plan.path, read_only=True)
    monkeypatch.setattr(stray_words, "_TYPING", 0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(app, "g", "n", "enter")
        await settled(app, pilot)
        assert app.pane.is_inside
        type_at_once(app, "escape", "n", "a")
        await until(pilot, lambda: isinstance(app.screen, Inbox))


async def test_a_key_that_is_refused_while_watching_drops_none_of_those_pressed_after_it(plan, make_app):
    app, now = make_app(plan.path, read_only=True), [0.0]
    app.key_queue.clock = lambda: now[0]
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for key in ("n", "a", "j"):
            now[0] += 0.33
            type_at_once(app, key)
            await settled(app, pilot)
        assert isinstance(app.screen, Inbox) and "dropped" not in said(app)


async def test_a_letter_of_the_word_that_comes_later_is_a_command(plan, open_app):
    now = [0.0]
    open_app.key_queue.clock = lambda: now[0]
    async with open_app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", "s", "i")
        await settled(open_app, pilot)
        now[0] = 1.5
        type_at_once(open_app, "n")
        await settled(open_app, pilot)
        assert isinstance(open_app.focused, AddWords)


async def test_a_reason_is_typed_into_the_line_that_asks_for_it_and_deletes_nothing(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", "s", "f", *"dead", "enter", "j")
        await settled(open_app, pilot)
        db = open_app.link.db
        assert task_queries.task(db, plan[1]).status == "failed"
        assert task_records.newest_log(db, plan[1], 1)[0].message == "dead"
        assert open_app.state.current_list.total == 9
        assert open_app.pane.row_list.cursor == plan[2]


async def test_a_task_is_added_by_one_burst_of_keys(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", "n", *"duds", "enter")
        await settled(open_app, pilot)
        assert open_app.pane.row_list.row.name == "duds"
        assert place_of(open_app, open_app.pane.target()) == 2


async def test_a_filter_takes_its_letters_and_what_follows_moves_in_what_it_found(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "slash", *"jwt", "enter", "j", "j")
        await settled(open_app, pilot)
        window = open_app.pane.row_list
        assert window.keys_on_screen == [plan[4], plan[5]]
        assert window.cursor == plan[5]


# Keys as they are typed: a letter is itself, a word in <> is a key by its name.
BURSTS = [
    "/jwt<enter>jd",
    "/jwt<escape>jd",
    "4/a<enter>j1nduds<enter>j",
    "2nduds<enter>j",
    "nduds<escape>jn more<enter>",
    "nduds<ctrl+o><tab>#two<ctrl+s>jex<ctrl+s>j",
    "ex<tab>#three<tab>more<enter>lines<ctrl+s>jdex<escape>y<escape>jd",
    "e<backspace><backspace>x<home>y<ctrl+s>",
    "sfdead<enter>jsds<escape>jd",
    "mna note<enter>jd",
    "vvdyuvvdnd",
    "aj<escape>jar<escape>r<escape>jk",
    "ayes<escape>j2",
    "arno way<escape><escape>2l",
    ":new task below<enter>duds<enter>j",
    ":filter as you<enter>jwt<enter>jd",
    "a j!!hGl1?a<enter>]a<tab>2!2aAA4",
    "3/kind:log<enter>g<enter><enter>jd",
    "+other<enter>nduds<enter>[j",
    "S<escape>jy<escape>j<enter><escape>j<enter>2j",
]

# Those that leave the list as it was, which one screen takes in turn; `HOME` leads back to where it began.
LOOKING = [
    "2123213241232l2l2jj1jj",
    "3gk1j2h",
    "2/jwt<enter>l",
    "2/jwt<tab><enter>1j",
    "3/kind:log<enter>k3",
    "A<enter>k2j",
    "Aj<enter>k1",
    ":go to the board<enter>l:go to the log<enter>gk",
    "?go to the sch<enter>j1?<escape>2?<escape>l",
    "!!2!",
    "gGA4[D441A",
]
HOME = ("escape", "escape", "escape", "1", "escape", "g")


def keys_of(burst):
    found = re.findall(r"<([a-z+]+)>|(.)", burst)
    return [events.Key(name or _character_to_key(letter), letter or None) for name, letter in found]


@pytest.mark.parametrize("bursts", [*((burst,) for burst in BURSTS), LOOKING], ids=" ".join)
async def test_keys_that_come_at_once_do_what_they_do_one_by_one(bursts, plan, tmp_path, make_app, monkeypatch):
    # On a busy machine a key that waits for the one before may come when its row has been read.
    monkeypatch.setattr(answer_keys, "READ_SECONDS", float("inf"))
    stands = []
    for how, at_once in (("slowly", False), ("at-once", True)):
        (tmp_path / how).mkdir()
        app, now = make_app(plan.copied(tmp_path / how / "auth.db").path), [0.0]
        app.key_queue.clock = lambda now=now: now[0]
        stands.append([])
        async with app.run_test(size=(120, 40)) as pilot:
            await quiet(app, pilot)
            first = lines(app)[:-1]
            for burst in bursts:
                async with asyncio.timeout(DEADLINE):
                    for key in keys_of(burst):
                        app.post_message(key)
                        if not at_once:
                            await quiet(app, pilot)
                    await quiet(app, pilot)
                # What is said in the last line is said where the human is by then. A thread may still write.
                if at_once:
                    wanted = stands[0][len(stands[1])][1]
                    await until(pilot, lambda app=app, wanted=wanted: lines(app)[:-1] == wanted)
                stands[-1].append((burst, lines(app)[:-1]))
                if len(bursts) > 1:
                    now[0] += 1e3
                    await pilot.press(*HOME)
                    await quiet(app, pilot)
                    assert lines(app)[:-1] == first, burst
                    now[0] += 1e3
    slowly, at_once = stands
    assert at_once == slowly


async def test_keys_wait_for_what_follows_a_write_that_has_ended_already(plan, open_app, monkeypatch):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        put = open_app.link._writer.put

        def ended(work):
            future = put(work)
            wait([future])
            return future

        monkeypatch.setattr(open_app.link._writer, "put", ended)
        type_at_once(open_app, "g", *"vjvdyugvjv")
        await settled(open_app, pilot)
        assert set(open_app.pane.row_list.marks) == {plan[1], plan[2]}
        assert open_app.pane.row_list.cursor == plan[2]


async def test_a_key_waits_for_all_that_the_action_before_it_writes(open_app, monkeypatch, holding_threads):
    app, goes_on = open_app, Event()
    async with app.run_test() as pilot:
        await pilot.pause()
        written, had_written = [], []

        async def write_twice():
            for key in ("one", "two"):
                await app.link.remember(key, key)
                written.append(key)
                app.link._writer.put(lambda _: goes_on.wait(DEADLINE))

        take = app.key_queue._take
        monkeypatch.setattr(app.key_queue, "_take", lambda event: had_written.append(list(written)) or take(event))
        app.key_queue.run(write_twice())
        await asyncio.sleep(0)
        type_at_once(app, "2")
        await until(pilot, lambda: written)
        for _ in range(100):
            await asyncio.sleep(0)
        assert had_written == []
        goes_on.set()
        await settled(app, pilot)
        assert had_written == [["one", "two"]]


async def test_a_key_does_not_wait_until_a_compaction_has_written_for_long(open_app, monkeypatch):
    app, taken = open_app, asyncio.Event()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.key_queue.clock = itertools.count().__next__

        async def write_on():
            while not taken.is_set():
                await app.link.remember("step", 1)

        take = app.key_queue._take
        monkeypatch.setattr(app.key_queue, "_take", lambda event: taken.set() or take(event))
        app.key_queue.run(write_on())
        await asyncio.sleep(0)
        type_at_once(app, "2")
        await asyncio.wait_for(taken.wait(), DEADLINE)


async def quiet(app, pilot):
    """Wait until nothing is under way but what waits for the human."""
    for _ in range(2):
        await pilot.pause()
        # The matches of a filter are counted a little after its last letter.
        await idle.rest(0.2)


async def test_a_key_after_a_defect_does_not_keep_the_program_from_ending(plan, make_app, monkeypatch):
    async def fail(self, *_):
        raise ZeroDivisionError

    monkeypatch.setattr(AddActions, "_add", fail)
    app = make_app(plan.path)
    with pytest.raises(WorkerFailed, match="ZeroDivisionError"):
        async with app.run_test() as pilot:
            await pilot.press("n", "a")
            type_at_once(app, "enter")
            await app._exception_event.wait()
            type_at_once(app, "escape")
            ended, _ = await asyncio.wait({app._task}, timeout=DEADLINE)
    assert ended


async def test_titles_that_are_typed_on_after_quick_add_press_no_key_and_open_it_again(plan, open_app, monkeypatch):
    app = open_app
    # Long enough for a busy machine: a letter that nothing follows for so long is a command.
    monkeypatch.setattr(stray_words, "_TYPING", DEADLINE)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        titles = ("buy", "Write", "quit", "get", "Keep", "deploy", "bake", "add")
        type_at_once(app, "g", "n", *(key for title in titles for key in (*title, "enter")), "escape", "d")
        await settled(app, pilot)
        names = [task.name for task in task_queries.tasks(app.link.db, app.state.current_list.id)]
        assert names[1:9] == [*titles[:-1], "Audit CloudFlare WAF rules"]
        assert said(app).startswith("Deleted “add”") and len(app.screen_stack) == 1


async def test_after_quick_add_n_adds_another_at_once_and_the_cursor_moves(plan, open_app):
    app = open_app
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(app, "g", "n", *"one", "enter", "k", "j", "n", *"two", "enter")
        await settled(app, pilot)
        names = [task.name for task in task_queries.tasks(app.link.db, app.state.current_list.id)]
        assert names[1:3] == ["one", "two"]


async def test_commands_that_are_pressed_one_by_one_right_after_quick_add_do_what_they_do(plan, open_app):
    app, now = open_app, [0.0]
    app.key_queue.clock = lambda: now[0]
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(app, "g", "n", *"duds", "enter")
        await settled(app, pilot)
        for key, total in (("j", 10), ("j", 10), ("d", 9), ("u", 10), ("k", 10), ("k", 10), ("d", 9)):
            now[0] += 0.33
            type_at_once(app, key)
            await settled(app, pilot)
            assert (app.state.current_list.total, app.focused) == (total, app.pane.row_list)
        assert said(app).startswith("Deleted “duds”")


async def test_a_cursor_key_held_down_right_after_quick_add_is_no_word_and_a_key_after_it_is_a_command(plan, open_app):
    app = open_app
    app.key_queue.clock = lambda: 0.0
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(app, "g", "n", *"duds", "enter", *"jjkj", "d")
        await settled(app, pilot)
        assert said(app).startswith("Deleted “") and app.state.current_list.total == 9
        assert app.focused is app.pane.row_list


@pytest.mark.parametrize("text", ["good dad", "2 eggs", "kind words", "dd"])
async def test_a_text_typed_on_after_quick_add_is_in_the_line_whole_with_letters_that_move_or_show(
    text, plan, open_app
):
    app = open_app
    app.key_queue.clock = lambda: 0.0
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(app, "g", "n", *"duds", "enter")
        for key in keys_of(text):
            app.post_message(key)
        await settled(app, pilot)
        assert app.focused.value == text
        assert app.state.current_list.total == 10


async def test_a_command_right_after_quick_add_runs_when_no_word_follows(plan, open_app, monkeypatch):
    app = open_app
    monkeypatch.setattr(stray_words, "_TYPING", 0.05)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        type_at_once(app, "n", *"buy", "enter", "d")
        await until(pilot, lambda: said(app).startswith("Deleted “buy”"))
