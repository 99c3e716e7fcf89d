"""The asks inbox: answers go to the question under the cursor and to no other, whatever comes in meanwhile."""

import asyncio
import re

import pytest
from textual import events

from tests.tui.boards import status
from tests.tui.driving import SIZES, by_agent, counts_line, lines, named, needs_rows, said, settle, shown, until
from tests.tui.inbox.test_inbox_lines import in_list
from tests.tui.plan import NOW, at
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask, LogTask
from tui_tasks.core.read.ask_queries import ask as read_ask
from tui_tasks.core.read.ask_queries import open_asks
from tui_tasks.core.read.message_queries import waiting
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.times import HOUR
from tui_tasks.tui.asks import ask_text, request_lines
from tui_tasks.tui.asks.reply_input import Reply
from tui_tasks.tui.inbox.inbox_screen import KEPT, Inbox
from tui_tasks.tui.list.list_pane import ListPane
from tui_tasks.tui.needs.agent_entries import AgentEntries


def asks(app) -> dict[str, object]:
    """The questions by the agents that asked them."""
    rows = app.link.db.sql("SELECT uid FROM ask").fetchall()
    return {ask.agent: ask for ask in (read_ask(app.link.db, uid) for (uid,) in rows)}


async def test_an_answer_that_is_a_sentence_has_one_full_stop_where_it_is_sent_and_in_the_log(plan, make_app):
    with Store(plan.path, read_only=True) as store:
        by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in open_asks(store.db)))
    by_agent(plan, "claude-1", OpenAsk("Which way?", ("Card declined. Try another card.", "Retry")))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "1")
        assert said(app).startswith("Sent to claude-1: Card declined. Try another card. ")
        await settle(pilot, "escape", "3")
        (answer,) = (line for line in lines(app) if "to claude-1: Which way?" in line)
        assert " Try another card, to claude-1: Which way?" in answer


@pytest.mark.parametrize("size", SIZES)
async def test_a_number_gives_the_oldest_question_that_option_and_the_cursor_goes_on_to_the_next(plan, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a", "1")
        assert asks(app)["claude-1"].answer == "pyjwt"
        assert asks(app)["claude-2"].state == "open"
        to = "" if size == (40, 12) else " to claude-1"
        assert said(app) == f"Sent{to}: pyjwt. h shows it." and said(app) in shown(app)
        assert app.screen.ask.agent == "claude-2" and "delete the old GA" in shown(app)
        await settle(pilot, "h")
        assert 'answered just now: "pyjwt"' in shown(app)
        await settle(pilot, "enter")
        assert app.screen.ask.agent == "claude-2" and "answered just now" not in shown(app)


async def test_after_an_answer_the_cursor_is_on_the_question_below_else_on_the_one_above(plan, make_app):
    for minute, name in enumerate(("robin", "noor", "mika"), 14):
        by_agent(plan, name, OpenAsk("And now?", ("go", "stay")), now=at(20, minute))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "j", "j", "j", "1")
        assert app.screen.ask.agent == "mika"
        for above in ("robin", "claude-2", "claude-1"):
            await settle(pilot, "m", *"go", "enter")
            assert app.screen.ask.agent == above


async def test_h_goes_back_to_the_answered_question_also_from_a_row_without_a_question(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "1", "end")
        assert app.screen.ask is None and app.screen.item is not None
        await settle(pilot, "h")
        assert app.screen.ask.agent == "claude-1" and 'answered just now: "pyjwt"' in shown(app)
        await settle(pilot, "escape", "a", "h")
        assert app.screen.ask.agent == "claude-1" and 'answered just now: "pyjwt"' in shown(app)


async def test_l_goes_on_again_from_the_question_that_h_went_back_to(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        for back, on in ("hl", ("left", "right")):
            await settle(pilot, back)
            assert said(app) == "You have answered no question here yet. k moves up."
            await settle(pilot, on)
            assert said(app) == "h has gone back to no question. j moves down."
        await settle(pilot, "1")
        for back, on in ("hl", ("left", "right")):
            await settle(pilot, back)
            assert 'answered just now: "pyjwt"' in shown(app)
            await settle(pilot, on)
            assert app.screen.ask.agent == "claude-2" and said(app) == ""
            await settle(pilot, back, on, back)
            assert 'answered just now: "pyjwt"' in shown(app)
            await settle(pilot, on)


async def test_h_goes_back_over_all_answered_questions_and_l_forward_again(plan, make_app):
    by_agent(plan, "claude-3", OpenAsk("And now?", ("go", "stay")), now=at(20, 14))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "1", "y", "h")
        assert app.screen.ask.agent == "claude-2"
        await settle(pilot, "h")
        assert app.screen.ask.agent == "claude-1"
        await settle(pilot, "h")
        assert said(app) == "You have answered no question here before this one. k moves up."
        await settle(pilot, "l")
        assert app.screen.ask.agent == "claude-2"
        await settle(pilot, "l")
        assert app.screen.ask.agent == "claude-3" and app.screen.ask.state == "open"
        await settle(pilot, "2", "h", "h", "h")
        assert app.screen.ask.agent == "claude-1", "the last one, with nothing after it, is one of them"


async def test_after_the_last_question_l_stays_in_the_inbox_and_enter_goes_back(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "1", "y")
        assert asks(app)["claude-2"].answer == "approve"
        assert 'answered just now: "approve"' in shown(app) and "That was the last question." in said(app)
        await settle(pilot, "l")
        assert isinstance(app.screen, Inbox)
        assert said(app) == "h has gone back to no question. j moves down."
        await settle(pilot, "enter")
        assert not isinstance(app.screen, Inbox)


async def test_the_word_of_an_answered_question_moves_no_other_row(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "h")
        rows = [line[2:] for line in in_list(app) if "#4 " not in line]
        await settle(pilot, "1", "h")
        assert any("#4 " in line and " answered" in line for line in in_list(app))
        assert [line[2:] for line in in_list(app) if "#4 " not in line] == rows


async def test_a_number_without_a_question_says_why_and_where_numbers_show_panes(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "1", "y", "2")
        assert said(app) == "Already answered: approve. Esc goes back to the panes."
        await settle(pilot, "j", "3")
        assert said(app) == "A number answers only a question under the cursor. Esc goes back to the panes."
        assert isinstance(app.screen, Inbox)


async def test_esc_after_a_refused_input_stays_in_the_inbox_and_leaves_it_the_next_time(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "e")
        assert said(app) == "You can edit only the input of a tool."
        await settle(pilot, "escape")
        assert isinstance(app.screen, Inbox) and said(app) == ""
        await settle(pilot, "e", "j", "escape")
        assert not isinstance(app.screen, Inbox), "another key was pressed in between"


async def test_the_human_may_leave_while_an_answer_is_still_being_written(plan, make_app, monkeypatch):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        write, left = app.link.commit, asyncio.Event()

        async def late(*operations, **how):
            await left.wait()
            return await write(*operations, **how)

        monkeypatch.setattr(app.link, "commit", late)
        await pilot.press("a", "1", "escape")
        await until(pilot, lambda: not isinstance(app.screen, Inbox))
        left.set()
        await until(pilot, lambda: "Sent to claude-1: pyjwt" in shown(app))
        assert asks(app)["claude-1"].answer == "pyjwt"


async def test_the_human_may_leave_before_the_inbox_is_drawn_and_loses_no_answer_typed_half(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "m", *"half", "escape", "escape")
        kept = local_values.get(app.link.db, KEPT)
        assert [text for _, text in kept["drafts"].values()] == ["half"]
        inbox = Inbox(app.context)
        app.push_screen(inbox)
        inbox.do_back()
        await settle(pilot)
        assert not isinstance(app.screen, Inbox)
        assert local_values.get(app.link.db, KEPT) == kept


async def test_a_number_without_an_option_and_a_yes_that_no_option_says_answer_nothing(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "3")
        assert asks(app)["claude-1"].state == "open"
        assert "There is no option 3" in shown(app)
        await settle(pilot, "y")
        assert asks(app)["claude-1"].state == "open"
        assert "No single option says yes" in shown(app)
        await settle(pilot, "j")
        assert said(app) == "", "what was said of one row does not hide the keys of the next"
        await settle(pilot, "k")
        assert counts_line(app).startswith(" ? 2 questions ")
        await settle(pilot, "1")
        assert counts_line(app).startswith(" ? 1 question ")


@pytest.mark.parametrize("place", ["a", "A"])
async def test_a_question_that_asks_for_words_is_neither_approved_nor_denied(plan, make_app, place):
    by_agent(plan, "codex-1", OpenAsk("Which host?"))
    app = make_app(plan.path)
    by_agent(plan, "human", *(AnswerAsk(asks(app)[name].uid, "x") for name in ("claude-1", "claude-2")))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, place)
        assert "y Approve" not in shown(app) and "y approve" not in shown(app) and "x D" not in shown(app)
        await settle(pilot, "y")
        assert said(app).startswith("Yes does not answer this: ")
        if place == "a":
            await settle(pilot, "x")
            assert said(app) == "No does not answer this: m replies in your own words."
            await settle(pilot, "d")
            assert said(app) == "d does nothing here.  ? Help"
            await settle(pilot, "m")
            assert "Reply to codex-1" in shown(app)
        assert asks(app)["codex-1"].state == "open"


@pytest.mark.parametrize(
    ("options", "yes", "no"),
    [
        (("Leave it running", "Stop and wipe it"), None, None),
        (("No preference", "src/i18n", "locale/"), None, None),
        (("Open a task and go on", "Stop here", "Ignore them"), None, None),
        (("Accept theirs", "Noor branch", "Cancel all other jobs"), None, None),
        (("Go", "Stop"), None, None),
        (("No-op", "No. 5", "No one", "Yes men"), None, None),
        (("Later", "Yes - all of them", "No, keep it"), "Yes - all of them", "No, keep it"),
        (("YES.", "No (recommended)"), "YES.", "No (recommended)"),
        (("Approve — and tell them", "Deny. It is late."), "Approve — and tell them", "Deny. It is late."),
        (("Yes", "Yes, all", "No"), None, "No"),
    ],
)
def test_an_option_says_yes_or_no_only_where_that_is_all_of_it_or_set_apart(options, yes, no):
    assert (ask_text.approving(options), ask_text.denying(options)) == (yes, no)


async def test_where_no_option_says_no_the_key_says_so_and_the_foot_does_not_offer_it(plan, make_app):
    options = ("Leave it running", "Stop and wipe it")
    by_agent(plan, "codex-1", OpenAsk("What about the staging server?", options), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "j", "j")
        assert " n " not in lines(app)[-1] and " y " not in lines(app)[-1]
        for key, word in (("n", "no"), ("y", "yes")):
            await settle(pilot, key)
            assert said(app) == f"No single option says {word}: 1-2 answer it, m replies in your own words."
        assert asks(app)["codex-1"].answer is None


def test_approving_and_denying_take_the_one_option_that_says_so():
    assert ask_text.approving(("Yes, delete it", "No")) == "Yes, delete it"
    assert ask_text.denying(("Yes, delete it", "No")) == "No"
    assert ask_text.approving(()) == "approve"
    assert ask_text.denying(()) == "deny"
    assert ask_text.approving(("yes, all", "yes, one", "no")) is None
    assert ask_text.approving(("Allow", "Allow always: make", "Deny")) == "Allow"
    assert ask_text.approving(("notify", "nothing")) is None


async def test_deny_asks_for_the_reason_and_sends_it_with_the_option_or_the_option_alone(plan, make_app):
    by_agent(plan, "codex-1", OpenAsk("May I?"), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "a", "j", "x", *"keep it", "enter")
        assert asks(app)["claude-2"].answer == "deny: keep it"
        await settle(pilot, "x", "enter")
        assert asks(app)["codex-1"].answer == "deny"


async def test_a_question_on_a_small_screen_has_the_title_of_its_task_as_far_as_it_fits(plan, make_app):
    by_agent(plan, "human", EditTask(plan[4], {"name": "Pick the library " + "that reads the tokens " * 5}))
    by_agent(plan, "claude-1", OpenAsk("Which one?", ("jose", "pyjwt"), plan[4]))
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "a", "j", "j")
        assert " #4 Pick the library that reads the to…" in lines(app)


async def test_what_is_typed_half_stays_through_what_agents_write(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "a", "m", *"take jo")
        before = asks(app)
        by_agent(plan, "codex-1", OpenAsk("A third one?"), LogTask(plan[5], "on and on"), now=at(20, 15))
        await until(pilot, lambda: len(app.state.asks) == 3)
        await settle(pilot, *"se")
        await pilot.press("enter")
        await settle(pilot)
        answered = asks(app)
        assert answered["claude-1"].answer == "take jose"
        assert answered["claude-2"] == before["claude-2"]
        assert answered["codex-1"].state == "open"


async def test_a_question_withdrawn_while_its_answer_is_typed_says_so_and_the_text_goes_as_a_message(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "m", *"take jose")
        by_agent(plan, "claude-1", CloseAsk(asks(app)["claude-1"].uid, "withdrawn"))
        await until(pilot, lambda: "claude-1 has withdrawn the question" in shown(app))
        assert "Enter sends this as a message" in shown(app)
        await pilot.press("enter")
        await settle(pilot)
        last = journal.latest(app.link.db, 1)[0]
        assert (last.kind, last.new["agent"], last.new["text"]) == ("message.sent", "claude-1", "take jose")
        assert asks(app)["claude-1"].answer is None


async def test_a_question_that_is_withdrawn_stays_under_the_cursor_and_takes_no_answer(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        uid = asks(app)["claude-1"].uid
        by_agent(plan, "claude-1", CloseAsk(uid, "withdrawn"))
        await until(pilot, lambda: "withdrawn" in shown(app))
        assert app.screen.window.cursor == uid
        await settle(pilot, "1")
        assert "claude-1 has withdrawn the question" in shown(app)
        assert asks(app)["claude-2"].state == "open"
        await settle(pilot, "j")
        assert app.screen.window.keys_on_screen == [asks(app)["claude-2"].uid, f"task:{plan[3]}"]


async def test_a_question_answered_elsewhere_goes_and_the_cursor_stays_on_its_own(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "j")
        mine = app.screen.window.cursor
        by_agent(plan, "human", AnswerAsk(asks(app)["claude-1"].uid, "jose"))
        await until(pilot, lambda: [row.uid for row in app.screen.listed.rows] == [mine, f"task:{plan[3]}"])
        assert app.screen.window.cursor == mine == asks(app)["claude-2"].uid


async def test_a_question_put_off_stays_put_off_and_the_inbox_opens_on_another(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "z")
        assert app.screen.window.cursor == asks(app)["claude-2"].uid
        assert "later 9m" in shown(app)
        assert app.screen.listed.rows[-1].uid == asks(app)["claude-1"].uid, "behind all that waits"
        await settle(pilot, "escape", "a")
        assert app.screen.window.cursor == asks(app)["claude-2"].uid
        await settle(pilot, "j", "a")
        assert app.screen.window.cursor == f"task:{plan[3]}" and "later 9m" in shown(app)
        assert said(app) == "Inbox is open already. Esc goes back."
        await settle(pilot, "k", "z")
        assert not isinstance(app.screen, Inbox)
        assert all(ask.state == "open" for ask in asks(app).values())


async def test_what_is_put_off_comes_after_all_else_above_the_panes_in_the_counts_and_for_the_key_that_goes_on(
    plan, make_app
):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        first = needs_rows(app)[0]
        assert "#4" in first and "2 questions" in counts_line(app)
        await settle(pilot, "a", "z", "escape")
        rows = [row for row in needs_rows(app) if row.strip()]
        assert "#7" in rows[0] and re.search("#4 +later: ", rows[-1])
        assert "1 question " in counts_line(app) and "1 later" in counts_line(app)
        visited = []
        for _ in range(len(rows)):
            await settle(pilot, "!")
            visited.append(app.pane.target())
        assert plan[4] not in visited and plan[7] in visited
    again = make_app(plan.path)
    async with again.run_test(size=(120, 40)) as pilot:
        assert "1 later" in counts_line(again)
        again.context.clock.now = lambda: NOW + HOUR
        again.context.redraw_frame()
        await settle(pilot)
        assert "2 questions" in counts_line(again)


async def test_u_takes_back_what_was_put_off_and_the_cursor_goes_to_it_where_the_inbox_is_open(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "z", "u")
        assert said(app) == "claude-1's question waits again. u again undoes what you did before."
        await until(pilot, lambda: app.screen.ask.agent == "claude-1" and "later" not in shown(app))
        await settle(pilot, "z", "escape")
        assert "1 question " in counts_line(app) and "1 later" in counts_line(app)
        assert local_values.put_off(app.link.db, NOW) == {asks(app)["claude-1"].uid: NOW + HOUR}
        await settle(pilot, "u")
        assert "2 questions" in counts_line(app) and "later" not in shown(app)
        assert local_values.put_off(app.link.db, NOW) == {}


async def test_u_takes_back_a_put_off_though_the_screen_follows_what_was_written_of_it_meanwhile(
    plan, make_app, monkeypatch
):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "z")
        put_off, remember = app.state.seen.put_off, app.link.remember
        assert put_off

        async def follow_first(key, value):
            if key == local_values.SEEN:
                app.state.seen.put_off = put_off
            await remember(key, value)

        monkeypatch.setattr(app.link, "remember", follow_first)
        await settle(pilot, "u")
        await until(pilot, lambda: "2 questions" in counts_line(app) and "later" not in counts_line(app))
        assert local_values.put_off(app.link.db, NOW) == {}


async def test_a_screen_that_only_reads_counts_what_is_put_off_elsewhere_as_that_screen_does(plan, make_app):
    app, watch = make_app(plan.path), make_app(plan.path, read_only=True)
    async with app.run_test(size=(120, 40)) as pilot, watch.run_test(size=(120, 40)) as other:
        assert "2 questions" in counts_line(watch)
        await settle(pilot, "a", "z")
        await until(other, lambda: "1 question " in counts_line(watch) and "1 later" in counts_line(watch))
        await settle(pilot, "u")
        await until(other, lambda: "2 questions" in counts_line(watch))


async def test_an_agent_whose_only_question_is_put_off_stands_behind_those_that_wait_and_is_not_in_yellow(
    plan, make_app
):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)):
        answer = {ask.agent: ask.uid for ask in asks(app).values()}
        entries = AgentEntries(app.context, lambda span: None)
        before = {entry.member.name: entry for entry in entries.entries()}
        app.state.seen.put_question_off(answer["claude-2"], NOW + HOUR)
        after = {entry.member.name: entry for entry in entries.entries()}
        assert (before["claude-2"].state, before["claude-2"].word) == ("waiting", "waiting")
        assert (after["claude-2"].state, after["claude-2"].color) == ("later", "$muted")
        assert [*after].index("claude-1") < [*after].index("claude-2")


@pytest.mark.parametrize("keys", [(), ("escape", "a")], ids=["while it is open", "opened anew"])
async def test_a_question_that_was_put_off_is_back_in_its_place_after_an_hour(plan, make_app, keys):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "z")
        assert said(app) == "Put off for an hour, behind all others. u takes it back."
        app.context.clock.now = lambda: NOW + HOUR
        await settle(pilot, *keys)
        await until(pilot, lambda: "later" not in shown(app))
        assert app.screen.listed.rows[0].uid == asks(app)["claude-1"].uid


async def test_an_answer_typed_half_is_there_again_when_the_inbox_is_opened_anew(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "m", *"half", "escape")
        assert "reply… (begun)" in shown(app)
        await settle(pilot, "escape")
        assert not isinstance(app.screen, Inbox)
        await settle(pilot, "a", "m", "right", *"way", "enter")
        assert asks(app)["claude-1"].answer == "halfway"
        await settle(pilot, "escape")
        assert local_values.get(app.link.db, KEPT)["drafts"] == {}


async def test_a_click_on_another_question_puts_the_answer_aside(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "m", *"half")
        y = next(y for y, line in enumerate(shown(app).split("\n")) if "? #7" in line)
        await pilot.click(offset=(20, y))
        await settle(pilot)
        assert not app.screen.query_one(Reply).is_open
        await settle(pilot, "1")
        assert asks(app)["claude-2"].answer == "approve"
        await settle(pilot, "k", "m", "enter")
        assert asks(app)["claude-1"].answer == "half"


async def test_the_wheel_goes_from_question_to_question_where_only_one_is_shown(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "a")
        await pilot._post_mouse_events([events.MouseScrollDown], app.screen.window)
        await settle(pilot)
        assert app.screen.window.cursor == asks(app)["claude-2"].uid


async def test_enter_opens_the_task_that_a_question_is_about(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "G", "a", "j")
        assert "z Later  Enter Task  Esc Back" in lines(app)[-1]
        await settle(pilot, "enter")
        assert isinstance(app.pane, ListPane)
        assert app.pane.target() == plan[7]


async def test_the_palette_writes_to_the_agent_that_asked_without_an_answer(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", *named("message"), *"hold on", "enter")
        last = journal.latest(app.link.db, 1)[0]
        assert (last.kind, last.actor) == ("message.sent", "human")
        assert (last.new["agent"], last.new["text"]) == ("claude-1", "hold on")


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_m_on_an_answered_row_writes_to_nobody_where_the_other_questions_are_put_off(plan, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a", "j", "z")
        assert app.screen.ask.agent == "claude-1", "the other question is put off"
        await settle(pilot, "1")
        assert app.screen.ask.state == "answered" and "m Message" not in shown(app)
        await settle(pilot, "m")
        assert said(app).startswith("Already answered: pyjwt. m replies only")
        await settle(pilot, *"Then wait", "enter")
        assert app.link.db.scalar("SELECT count(*) FROM journal WHERE kind = 'message.sent'") == 0


async def test_a_key_on_what_is_answered_says_the_answer(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "2", "h", "1")
        assert said(app) == "Already answered: jose. Esc goes back to the panes."
        assert asks(app)["claude-1"].answer == "jose"


async def test_a_click_on_an_option_answers_with_it(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        lines = shown(app).split("\n")
        # Below the rows, which name the options too.
        y = max(y for y, line in enumerate(lines) if "2 jose" in line)
        await pilot.click(offset=(lines[y].index("jose") + 1, y))
        await settle(pilot)
        assert asks(app)["claude-1"].answer == "jose"


async def test_read_only_shows_the_questions_and_says_why_it_does_not_answer(plan, make_app):
    app = make_app(plan.path, read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "1")
        assert "read only" in shown(app).split("\n")[-1]
        assert asks(app)["claude-1"].state == "open"
        await settle(pilot, "z", "escape")
        assert not isinstance(app.screen, Inbox)


@pytest.mark.parametrize(
    ("options", "keys", "title"),
    [
        (("Yes", "No"), "y Yes  n No", "No; tell claude-9 why, or nothing"),
        (("Reject, it is late", "accept"), "y Accept  n Reject", "Reject; tell claude-9 why, or nothing"),
        ((), "y Approve  n Deny", "Deny; tell claude-9 why, or nothing"),
    ],
)
async def test_the_keys_of_an_answer_say_what_is_sent_in_the_inbox_and_in_agents(plan, make_app, options, keys, title):
    by_agent(plan, "claude-9", OpenAsk("Shall I?", options), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        for place, row in (("a", asks(app)["claude-9"].uid), ("A", "claude-9")):
            await settle(pilot, place)
            app.screen.window.move_to(row)
            await settle(pilot)
            assert "Shall I?" in shown(app)
            assert keys in shown(app).splitlines()[-1]
            await settle(pilot, "x")
            assert title in shown(app)
            await settle(pilot, "escape", "escape")


async def test_what_agents_write_is_text_and_nothing_else(plan, make_app):
    hostile = "[@click=app.quit]x[/nope] \x1b]52;c;aGk=\x07 \u202eevil\nnew line"
    by_agent(plan, "[bold]evil\x1b[2J", OpenAsk(hostile, (hostile, "[red]no"), plan[1]), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot, "a")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            text = shown(app)
            assert "[@click=app.quit]" in text
            assert not {"\x1b", "\x07", "\u202e"} & set(text)
            await settle(pilot, "m")
            assert not {"\x1b", "\x07"} & set(shown(app))
            await settle(pilot, "escape")


async def test_a_question_longer_than_the_screen_can_be_scrolled_to_its_end(plan, make_app):
    by_agent(plan, "claude-9", OpenAsk("word " * 2_000 + "the end"), now=at(15, 0))
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "a", *["pagedown"] * 50)
        assert "the end" in shown(app).replace("\n", " ")


async def test_an_empty_inbox_says_so(plan, make_app):
    app = make_app(plan.path)
    by_agent(plan, "human", *(AnswerAsk(ask.uid, "x") for ask in asks(app).values()))
    by_agent(plan, "human", EditTask(plan[3], {"status": "done"}))
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "a", "enter")
        assert not isinstance(app.screen, Inbox)
        await settle(pilot, "a")
        assert "Nothing needs you." in shown(app)


async def test_resizing_keeps_the_question_and_what_is_typed(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "j", "m", *"ha")
        mine = app.screen.window.cursor
        for size in [(40, 12), (80, 24), (60, 10), (120, 40)]:
            await pilot.resize_terminal(*size)
            await settle(pilot)
        assert app.screen.window.cursor == mine
        assert app.screen.query_one(Reply).is_open
        await settle(pilot, *"lf", "enter")
        assert asks(app)["claude-2"].answer == "half"


async def test_the_questions_tell_the_numbers_of_their_tasks_which_stay(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        numbers = [app.screen.tasks.number(ask) for ask in app.screen.listed.rows[:2]]
        assert numbers == ["#4", "#7"]
        assert "? #4  jose is" in shown(app)
        assert "? #7  Approve" in shown(app)
        by_agent(plan, "claude-3", AddTask("comes before the others", before=plan[1]))
        await until(pilot, lambda: app.state.current_list.total == 10)
        assert "? #4   jose is" in shown(app)
        assert "? #7   Approve" in shown(app)


async def answered(pilot, *keys):
    """What the newest question, by codex-1, is answered by keys in an inbox that opens anew; and what is shown then."""
    app = pilot.app
    if isinstance(app.screen, Inbox):
        await settle(pilot, "escape")
    await settle(pilot, "a")
    app.screen.window.move_to(asks(app)["codex-1"].uid)
    await settle(pilot, *keys)
    return asks(app)["codex-1"].answer, shown(app)


@pytest.mark.parametrize("size", SIZES)
async def test_what_goes_on_below_is_answered_only_once_its_end_has_been_on_screen(plan, make_app, size):
    ask = OpenAsk("May I list the files?" + "\n" * 60 + "And delete them all?", ("Yes", "No"))
    by_agent(plan, "codex-1", ask, now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        for key in ("y", "1", "2"):
            answer, screen = await answered(pilot, key)
            assert answer is None
            what = "to its end first" if key == "y" else f"read it to its end, then press {key} again."
            assert what in " ".join(screen.split())
        answer, _ = await answered(pilot, *["pagedown"] * 20, "pageup", "y")
        assert answer == "Yes"


@pytest.mark.parametrize("size", SIZES)
async def test_n_answers_no_at_once_as_y_answers_yes_and_the_foot_names_both(plan, make_app, size):
    by_agent(plan, "codex-1", OpenAsk("Delete 1,204 rows?", ("Yes", "No")), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a", "j", "j")
        both = "y/n yes/no" if size[0] < 60 else "y Yes  n No"
        assert both in lines(app)[-1]
        await settle(pilot, "n")
        assert asks(app)["codex-1"].answer == "No"
        assert said(app).startswith("Sent: No" if size[0] < 60 else "Sent to codex-1: No")


@pytest.mark.parametrize("size", SIZES)
async def test_the_foot_offers_no_answer_before_the_end_of_a_question_was_on_screen(plan, make_app, size):
    by_agent(plan, "codex-1", OpenAsk("May I?" + "\n" * 60 + "Sure?", ("Yes", "No")), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a", "j", "j")
        assert lines(app)[-1].lower().startswith(" ^d more") and "yes" not in lines(app)[-1].lower()
        await settle(pilot, *["pagedown"] * 20)
        assert "^d" not in lines(app)[-1] and "yes" in lines(app)[-1].lower()


async def test_enter_on_a_question_about_no_task_opens_the_reply_or_names_the_keys_that_answer(plan, make_app):
    by_agent(plan, "codex-1", OpenAsk("Which version?", expires_at=NOW + 300_000_000), now=at(20, 15))
    by_agent(plan, "codex-2", OpenAsk("Which color?", ("red", "blue")), now=at(20, 16))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "j", "j", "j", "enter")
        assert said(app) == "This question is about no task: 1-2 answers it, m replies in your own words."
        await settle(pilot, "3")
        assert said(app) == "There is no option 3: 1-2 answer it, Esc goes back to the panes."
        await settle(pilot, "k")
        assert "codex-1 goes on without your answer in 5m." in shown(app)
        await settle(pilot, "enter", *"2.0", "enter")
        assert asks(app)["codex-1"].answer == "2.0"


async def test_the_key_that_goes_to_a_question_names_the_one_that_answers_it(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "exclamation_mark")
        assert said(app).startswith("1 of 3: question, #4") and said(app).endswith("; a answers it")
        assert " a answers it" in lines(app)
        await settle(pilot, "a")
        assert app.screen.ask.uid == asks(app)["claude-1"].uid


async def test_the_number_of_an_option_shows_the_rest_of_a_question_and_then_answers_it(plan, make_app):
    ask = OpenAsk("Merge the two tables of names? " + "The tests rely on the second. " * 9, ("Merge", "Leave"))
    by_agent(plan, "codex-1", ask, now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        answer, screen = await answered(pilot, "2")
        assert answer is None and "More below: read it to its end" in screen and "2 Leave" in screen
        await settle(pilot, "2")
        assert asks(app)["codex-1"].answer == "Leave"


async def test_a_number_answers_only_while_it_stands_on_screen_beside_its_option(plan, make_app):
    ask = OpenAsk("rm -rf /srv/backups/2025?" + "\n" * 60 + "Sure?", ("allow", "deny"))
    by_agent(plan, "codex-1", ask, now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        answer, screen = await answered(pilot, *["pagedown"] * 20, *["pageup"] * 20, "1")
        assert answer is None and "Option 1 is not on screen: scroll to it first." in screen
        await settle(pilot, *["pagedown"] * 20, "1")
        assert asks(app)["codex-1"].answer == "allow"


async def test_an_end_that_was_read_of_one_question_is_not_that_of_the_next(plan, make_app):
    long = OpenAsk("One" + "\n" * 40 + "end", ("Yes", "No"))
    by_agent(plan, "codex-1", long, now=at(20, 15))
    by_agent(plan, "codex-2", long, now=at(20, 16))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "j", "j", *["pagedown"] * 12)
        await pilot.press("j", "y")
        await settle(pilot)
        assert asks(app)["codex-2"].state == "open"
        assert asks(app)["codex-1"].state == "open"


async def test_of_what_cannot_be_shown_whole_no_option_is_sent(plan, make_app):
    by_agent(plan, "codex-1", OpenAsk("May I?" + " x" * 10_001, ("Yes", "No")), now=at(20, 15))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        answer, screen = await answered(pilot, *["pagedown"] * 50, "y")
        assert answer is None
        assert "Not all of this question can be shown" in screen
        answer, _ = await answered(pilot, "x", "enter")
        assert answer == "No"


def many(plan, agent: str = "noisy", count: int = 50) -> None:
    questions = [OpenAsk(f"Question {number}?", ("Yes", "No")) for number in range(count)]
    by_agent(plan, agent, *questions, now=at(15, 0))


@pytest.fixture
def read(monkeypatch) -> list[int]:
    """How many letters are looked at of each long text that is drawn."""
    found, prose_lines = [], request_lines.prose_lines

    def counted(text, **more):
        if len(text) >= 500:
            found.append(len(text))
        return prose_lines(text, **more)

    monkeypatch.setattr(request_lines, "prose_lines", counted)
    return found


@pytest.mark.parametrize(
    ("letters", "left_out"), [("drop it ", "180,011"), ("ab\n", "193,009"), ("\u53ef", "180,011")], ids=ascii
)
async def test_of_a_question_of_200_000_letters_a_key_looks_at_the_beginning_and_the_end_that_are_shown(
    plan, make_app, read, letters, left_out
):
    by_agent(plan, "claude-2", OpenAsk(f"{letters * (200_000 // len(letters))}, or may I?", ("Yes", "No"), plan[7]))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "j")
        assert read == []
        await settle(pilot, "j")
        assert letters.strip() in shown(app) and sum(read) <= 2 * 20_000, "without the scroll bar and with it"
        app.screen._both.scroll.scroll_end(animate=False, immediate=True)
        await settle(pilot)
        assert "or may I?" in shown(app) and "Part of this is not shown" in shown(app)
        assert any(
            f"… {left_out} characters are left out …" in text for line in app.screen._detail._shown for text, _ in line
        )
        read.clear()
        await settle(pilot, "k", "j", "k", "j")
        assert sum(read) <= 2_000, "its beginning is kept"


async def test_fifty_questions_of_one_agent_do_not_bury_those_of_others(plan, make_app):
    many(plan)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        rows = [line for line in shown(app).split("\n")[3:13] if line[3:4] == "?" or "more of" in line]
        assert [word in row for word, row in zip(("0?", "1?", "2?", "47 more of noisy"), rows, strict=False)] == [
            True
        ] * 4
        assert "jose is maintained" in rows[4] and "Approve" in rows[5]
        assert counts_line(app).startswith(" ? 52 questions ")
        await settle(pilot, "j", "j", "j")
        assert "noisy asks 47 more questions" in shown(app)
        await settle(pilot, "1", "y", "x")
        assert "Enter lists these questions" in said(app)
        assert len(app.state.asks) == 52
        await settle(pilot, "down", "up", "enter")
        assert app.screen.ask.question == "Question 3?"
        assert len(app.screen.listed.rows) == 53, "the failed task too"


async def test_a_line_that_is_answered_makes_room_for_the_next_of_that_agent_and_moves_no_other(plan, make_app):
    many(plan, count=6)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "1")
        asked_now = [
            getattr(row, "question", f"{len(getattr(row, 'asks', ()))} more") for row in app.screen.listed.rows
        ]
        assert asked_now[:4] == ["Question 1?", "Question 2?", "Question 3?", "2 more"]
        assert app.screen.ask.question == "Question 1?"


async def test_one_key_answers_or_withdraws_all_questions_of_an_agent(plan, make_app):
    many(plan)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", *named("settle"), "escape")
        assert len(app.state.asks) == 52
        await settle(pilot, *named("settle"), "w")
        assert "Withdrawn: 50 questions of noisy" in said(app)
        assert {ask.agent for ask in app.state.asks} == {"claude-1", "claude-2"}
        many(plan, "other")
        await until(pilot, lambda: len(app.state.asks) == 52)
        await settle(pilot, "escape", "a", *named("settle"), "a", *"stop it", "enter")
        assert "Answered: 50 questions of other" in said(app)
        assert {ask.agent for ask in app.state.asks} == {"claude-1", "claude-2"}
        answers = app.link.db.sql("SELECT DISTINCT answer FROM ask WHERE agent = 'other'").fetchall()
        assert answers == [("stop it",)]


async def test_a_question_that_is_folded_is_listed_where_it_is_asked_for(plan, make_app):
    many(plan)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        wanted = next(ask for ask in app.state.asks if ask.question == "Question 30?")
        app.push_screen(Inbox(app.context, wanted.uid))
        await settle(pilot)
        assert app.screen.ask == wanted


async def test_a_reply_takes_several_lines(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "m", *"so", "ctrl+j")
        # A terminal pastes a line end as a carriage return.
        await app.on_event(events.Paste("\rtake jose\r\rand not pyjwt\r"))
        await until(pilot, lambda: "and not pyjwt" in shown(app))
        await settle(pilot, "enter")
        assert asks(app)["claude-1"].answer == "so\ntake jose\n\nand not pyjwt"
        assert "so; take jose; and not" in said(app)
        await settle(pilot, "m", "a", "ctrl+j", "b", "escape", "m", "right", "c", "enter")
        assert asks(app)["claude-2"].answer == "a\nbc", "one that was put aside keeps its lines"


async def test_a_paste_that_is_too_long_for_a_reply_says_so(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a", "m", "a")
        await app.on_event(events.Paste("x" * 100_000))
        await settle(pilot)
        assert said(app) == "Not pasted: it is longer than the 100,000 characters that fit here."
        await settle(pilot, "enter")
        assert asks(app)["claude-1"].answer == "a"


async def test_a_question_its_answers_and_what_goes_on_fit_without_scrolling(evening, make_app):
    app = make_app(evening.path)
    async with app.run_test(size=(80, 24)) as pilot:
        for key, text in (("a", "? asks 9m · #5 keeps running ─"), ("j", "deny"), ("x", "deny")):
            await settle(pilot, key)
            assert app.screen._both.scroll.max_scroll_y == 0, key
            assert text in shown(app), key


async def test_what_an_agent_did_lately_is_told_as_far_as_there_is_room(evening, make_app):
    app = make_app(evening.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        for lines_of_screen, is_whole in ((40, True), (19, False)):
            await pilot.resize_terminal(80, lines_of_screen)
            await settle(pilot)
            assert "claude-1 lately\n   20:15  #5  running tests 14/22" in shown(app)
            assert ("sketched the middleware" in shown(app)) == is_whole


async def test_the_options_of_a_question_that_is_drawn_close_are_where_they_are_drawn(evening, make_app):
    options = tuple(f"way {number}" for number in range(1, 9))
    by_agent(evening, "claude-2", OpenAsk("\n".join(f"line {number}" for number in range(3)), options), now=at(20, 0))
    app = make_app(evening.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        app.screen._asked.spots = []
        drawn = app.screen._asked.lines(80, 24)
        keys = {"ask_reply": "m"} | {f"ask_{number}": str(number) for number in range(1, 9)}
        assert [keys[spot.action] for spot in app.screen._asked.spots] == [*"12345678m"]
        for spot in app.screen._asked.spots:
            assert drawn[spot.line][0][0].strip() == keys[spot.action], spot
        assert "claude-2 lately" not in str(drawn)


async def test_quotes_of_an_answer_that_is_corrected_are_told_from_those_around_it(plan, make_app):
    with Store(plan.path, read_only=True) as store:
        answers = [AnswerAsk(ask.uid, "x") for ask in open_asks(store.db)]
    by_agent(plan, "human", *answers)
    by_agent(plan, "claude-1", OpenAsk("Which?", ('the "old" one', "the new one")))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "1", "u", "u")
        assert app.screen.query_one("#answer").value == """Instead of "the 'old' one": """


async def test_undo_after_an_answer_only_says_that_it_is_not_undone_until_it_is_pressed_twice_in_a_row(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "1", "u")
        words = "An answer is not undone: claude-1 may have read it. u again writes to claude-1."
        assert said(app) == words
        await settle(pilot, "j")
        assert said(app) != words
        await settle(pilot, "u")
        assert said(app) == words and not app.screen.query("#answer")
        await settle(pilot, "escape", "u", "D", "j", "j", "enter")
        assert not app.screen.query("#answer") and not waiting(app.link.db, "claude-1")


async def test_undo_begins_a_message_that_corrects_an_answer_before_it_takes_back_the_change_before(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        by_agent(plan, "human", EditTask(plan[8], {"status": "skipped"}))
        await settle(pilot, "a", "1", "u", "u")
        assert "Your answer stays. Message to claude-1" in shown(app)
        assert app.screen.query_one("#answer").value == 'Instead of "pyjwt": '
        await settle(pilot, *"jose", "escape", "u", "u")
        assert app.screen.query_one("#answer").value == 'Instead of "pyjwt": jose'
        await settle(pilot, "enter")
        assert [one.text for one in waiting(app.link.db, "claude-1")] == ['Instead of "pyjwt": jose']
        await settle(pilot, "u")
        assert said(app).startswith("Taken back: your message to claude-1.")
        assert status(app, plan[8]) == "skipped"
        await settle(pilot, "u")
        assert "Undo “#8 Backup restore drill: pending → skipped”?" in shown(app)
        await settle(pilot, "y")
        await until(pilot, lambda: status(app, plan[8]) == "pending")
        assert said(app).startswith("Undone: #8 Backup restore drill: pending again.")
        await settle(pilot, "ctrl+r")
        assert said(app).startswith("Redone: #8 Backup restore drill: ")


async def test_a_long_title_takes_no_line_from_the_question_and_the_answers(plan, make_app):
    title = f"Move {'all the old figures and charts ' * 6}to the new place"
    by_agent(plan, "human", EditTask(plan[8], {"name": title, "status": "in_progress", "agent": "claude-3"}))
    by_agent(plan, "claude-3", OpenAsk("Which one?", ("the old one", "the new one"), plan[8]))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        await settle(pilot, "G", "k")
        for size in ((120, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            head = next(at for at, line in enumerate(lines(app)) if line.startswith("─ #8 Move"))
            assert "… · claude-3 ─" in lines(app)[head]
            assert "Which one?" in lines(app)[head + 1]


async def test_a_row_is_found_by_its_number_its_choices_and_its_task_and_escape_leaves_the_filter(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "a")
        for words, agent in (("#4", "claude-1"), ("lockfile", "claude-1"), ("plausible", "claude-2")):
            await settle(pilot, "slash", "ctrl+u", *words, "enter")
            assert [row.agent for row in app.screen.listed.rows] == [agent], words
            assert f'Inbox   1 of 3 with "{words}"' in shown(app)
        await settle(pilot, "slash", *"zebra", "enter")
        said_so = "Nothing matches “plausiblezebra”: Esc clears the filter."
        await until(pilot, lambda: said_so in " ".join(shown(app).split()))
        await settle(pilot, "escape")
        assert len(app.screen.listed.rows) == 3 and isinstance(app.screen, Inbox)


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_a_read_only_inbox_names_no_key_that_answers(plan, make_app, size):
    app = make_app(plan.path, read_only=True)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        assert not re.search(r"1-2|Reply|reply|pick", lines(app)[-1]), lines(app)[-1]
