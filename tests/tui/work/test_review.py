"""Reviewing the work of an agent on the screen."""

from __future__ import annotations

import os
import re
import threading
from types import SimpleNamespace

import msgspec
import pytest

from tests.checks import Checks
from tests.started import DEADLINE
from tests.tui.driving import SIZES, agents_line, by_agent, counts_line, lines, named, said, settle, shown, until
from tests.tui.plan import NOW
from tests.tui.work.reviewing import begin, state_of
from tests.work.repositories import commit, git, write
from tui_tasks.core.agent_snapshots import Check, CheckRun
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Revert
from tui_tasks.core.operations.asks import AnswerAsk, NoteStuck, OpenAsk
from tui_tasks.core.operations.jobs import DefineChecks, GiveChecks, NamedCheck
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.operations.tasks import ClaimTask, DeleteTask, EditTask
from tui_tasks.core.operations.work import BeginMerge, CommentWork, GiveUpMerge, RunWork, StartWork, WorkReady
from tui_tasks.core.read import ask_queries, check_queries, message_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.store import Store
from tui_tasks.runner import git_trees
from tui_tasks.settings.config import Config
from tui_tasks.text.times import HOUR
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.work import attaching, diff_lines, diff_side, reviewed_work, work_actions
from tui_tasks.tui.work.accept_form import AcceptForm
from tui_tasks.tui.work.review_screen import ReviewScreen
from tui_tasks.work import comments
from tui_tasks.work.accepting import Acceptance, Outcome
from tui_tasks.work.agent_terminals import Terminals
from tui_tasks.work.git import pull_requests

BRANCH = "task/9-rotate-keys"


@pytest.fixture(autouse=True)
def at_once(monkeypatch, tmp_path):
    """Read what is on screen at once, and colour it in this process; git knows who the human is."""
    monkeypatch.setattr(answer_keys, "READ_SECONDS", 0.0)
    monkeypatch.setattr(diff_side, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(
        diff_lines,
        "_ask",
        lambda source: msgspec.json.encode(source) and [diff_lines.tokens(source.name, text) for text in source.texts],
    )
    (tmp_path / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def place(keys_repository):
    return keys_repository(BRANCH)


async def review(app, pilot, plan, number=9):
    app.context.navigation.go_to(plan[number])
    await settle(pilot, "enter")
    assert isinstance(app.screen, ReviewScreen)
    await until(pilot, lambda: app.screen.reviewed.facts.review is not None or app.screen.reviewed.facts.problem)
    await settle(pilot)


async def merge(app, pilot, plan):
    await review(app, pilot, plan)
    await settle(pilot, "y", "enter", "enter")
    await until(pilot, lambda: "Merged into main. u takes it out of main again, and asks before." in said(app))
    pause(app)


def pause(app):
    """Let a while pass, after which a key is not typed on for the form that has closed."""
    now = app.key_queue.clock()
    app.key_queue.clock = lambda: now + 10


async def test_enter_on_work_that_is_ready_shows_its_files_and_the_diff_of_the_first_and_the_commits_at_every_size(
    plan, place, make_app
):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await review(app, pilot, plan)
            assert "src/keys.py" in shown(app) and "+3 -1" in shown(app)
            if size == (120, 40):
                left = "\n".join(line.split("│")[0] for line in lines(app))
                for words in ("Keys are rotated", "2 commits ahead of main", "Keep the fresh key", "defines a check"):
                    assert words in left
                assert left.count("ahead of main") == 1, "in the line above"
            if size == (40, 12):
                assert "store.put" not in shown(app)
                await settle(pilot, "enter")
                await until(pilot, lambda: "store.put" in shown(app))
                await settle(pilot, "escape")
                assert isinstance(app.screen, ReviewScreen) and "src/keys.py" in shown(app)
            else:
                await until(pilot, lambda: "store.put(fresh)" in shown(app))
            await settle(pilot, "escape")


@pytest.mark.parametrize("added", [0, 40])
async def test_open_questions_and_failures_stand_above_a_review_in_their_words_however_long_its_diff_is(
    plan, place, make_app, added
):
    write(place.tree, long_txt="x\n" * added)
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=SIZES[0]) as pilot:
        for size in SIZES[:2]:
            await pilot.resize_terminal(*size)
            await review(app, pilot, plan)
            (rule,) = (at for at, line in enumerate(lines(app)) if re.match(r"─ \d files \+.* · unproven: ", line))
            above = " ".join(" ".join(lines(app)[:rule]).split())
            for words in (
                "Which one?",
                "Approve: delete the old GA property",
                "test_dst_gap: expected 02:30, got 03:30",
            ):
                assert words in above
            await settle(pilot, "escape")


async def test_the_work_of_a_deleted_task_leaves_review_inbox_and_counts_until_the_task_is_back(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        with Store(plan.path) as store:
            store.commit(DeleteTask(plan[9]), actor="robot-1", now=NOW)
        await until(pilot, lambda: not isinstance(app.screen, ReviewScreen))
        assert said(app) == "robot-1 deleted #9. : revert in its list brings it back."
        assert "to review" not in counts_line(app)
        await settle(pilot, "a")
        assert isinstance(app.screen, Inbox) and "Old cookie banner" not in shown(app)
        await settle(pilot, "escape", "A")
        assert "to review" not in shown(app)
        await settle(pilot, "escape")
        with Store(plan.path) as store:
            store.commit(Revert((change_summaries.deletion_of(store.db, plan[9]),)), actor="human", now=NOW)
        await until(pilot, lambda: "⇡ #9 to review" in counts_line(app))
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "d")
        asked = "Delete “Old cookie banner”? the work of robot-1 waits for your review."
        assert asked in " ".join(shown(app).split())
        await settle(pilot, "y")
        stays = "The work of robot-1 stays: `tui-tasks work discard 9` ends it."
        await until(pilot, lambda: said(app) == f"Deleted “Old cookie banner”. {stays} u brings it back.")
        await settle(pilot, "u")
        await until(pilot, lambda: "⇡ #9 to review" in counts_line(app))
        with Store(plan.path) as store:
            store.commit(DeleteTask(plan[9]), actor="human", now=NOW)
        assert work_actions.review(app.context, plan[9])
        assert said(app) == "#9 was deleted. u brings it back.", "of one that is deleted as its review opens"


async def test_only_the_side_with_the_keys_has_a_cursor(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    async with make_app(plan.path).run_test(size=(120, 40)) as pilot:
        await review(pilot.app, pilot, plan)
        screen = pilot.app.screen
        await until(pilot, lambda: "store.put(fresh)" in shown(pilot.app))

        def look(row_list):
            strip = row_list.render_line(row_list._cursor.line)
            return ">" in strip.text[:3], str(next(iter(strip)).style.bgcolor)

        for size in SIZES[:2]:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            (has_sign, ground), (other_has_sign, faint) = look(screen.files), look(screen.side.list)
            assert has_sign and not other_has_sign and ground != faint, size
            await settle(pilot, "enter")
            await until(pilot, lambda: look(screen.side.list)[0])
            assert look(screen.files) == (False, faint) and look(screen.side.list) == (True, ground), size
            await settle(pilot, "escape")


async def test_a_file_whose_name_is_no_utf_8_is_shown_commented_on_and_sent_back(plan, place, make_app):
    (place.tree / os.fsdecode(b"a\xff.py")).write_text("x = 1\n")
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "g", "j")
        await until(pilot, lambda: "x = 1" in shown(app))
        await settle(pilot, "c", *"Why?", "enter")
        await settle(pilot, "s", "enter")
        await until(pilot, lambda: state_of(plan, work) == "working")
        (sent,) = message_queries.newest(app.link.db, work.agent, 5)
        assert "\n\na\\xff.py\nWhy?\n\n" in sent.message.text


async def test_slash_finds_a_file_by_its_name_and_words_in_the_diff(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "slash", *"TEST_K", "enter")
        assert app.screen.change.name == "tests/test_keys.py"
        await settle(pilot, "slash", *"src", "enter", "enter")
        await until(pilot, lambda: "store.put(fresh)" in shown(app))
        await settle(pilot, "slash", *"Fresh", "enter")
        assert app.screen.side.line.text == "    fresh = key.new()"
        await settle(pilot, "slash", "enter")
        assert "store.put(fresh)" in app.screen.side.line.text
        await settle(pilot, "slash", *"yes", "enter")
        assert said(app) == "No shown line of the diffs has “yes”."
        await settle(pilot, "slash", *"Def test", "enter")
        await until(pilot, lambda: app.screen.change.name == "tests/test_keys.py")
        assert app.screen.side.line.text == "def test_rotate():" and said(app) == "Found in tests/test_keys.py."
        await settle(pilot, "slash", *"rotate", "enter")
        assert app.screen.side.line.text == "    assert keys.rotate", "the next one in this file"
        await settle(pilot, "slash", "enter")
        await until(pilot, lambda: app.screen.change.name == "src/keys.py")
        assert app.screen.side.line.text == "def rotate(key):" and app.screen.is_on_diff, "then from the first file"


async def test_every_text_of_the_repository_is_safe_and_nothing_of_it_is_hidden(plan, place, make_app):
    bad = "x\x1b[31mred\u202e\u200b\r\n"
    (place.tree / "a\nb\x1b]52;c;aGk=\x07.txt").write_text(bad)
    (place.tree / "[bold]-f.py").write_text("x = '[/nope]'\n")
    commit(place.tree, "\x1b[2J[@click=app.quit]hi")
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "g")
        assert "␛[2J[@click=app.quit]hi" in shown(app)
        for _ in range(4):
            await settle(pilot, "j")
            await pilot.pause()
            text = shown(app)
            assert not any(char in text for char in "\x1b\x07\u202e\u200b\r")
            if "52;c" in text.split("│")[-1]:
                assert "x␛[31mred<U+202E><U+200B>␍" in text
        assert "a␤b␛]52;c;aGk=␇.txt" in shown(app) and "[bold]-f.py" in shown(app)


async def test_files_that_are_not_committed_are_marked_and_named_first(plan, place, make_app):
    write(place.tree, notes_txt="one\n", src__keys_py="changed\n")
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "2 not committed" in shown(app) and shown(app).count("Not committed:") == 1
        assert "? notes.txt" in shown(app)
        await settle(pilot, "j")
        await until(pilot, lambda: shown(app).count("Not committed:") == 1)


async def test_at_80_columns_the_foot_has_every_key_of_the_work_and_files_take_only_the_lines_that_they_need(
    plan, place, make_app
):
    git(place.tree, "config", "remote.origin.url", "git@git.example:ada/api.git")
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await review(app, pilot, plan)
        foot = shown(app).splitlines()[-1]
        for key in ("y Accept", "c Comment", "s Send back", "x Discard", "p Pull request", "Esc Back", "? Help"):
            assert key in foot
        assert (
            attaching.why_not(app.context, app.screen.reviewed.facts.work.agent) is not None and "Terminal" not in foot
        )
        assert shown(app).count("2 files +7 -1") == 1 and "The work as a whole" in shown(app)
        assert app.screen.files.size.height == 3
        assert app.screen.side.list.size.height == 9, "what needs the human has four lines at most"


async def test_comments_stand_below_their_lines_are_kept_and_go_to_the_agent_as_one_message(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "c", *"all", "enter")
        await settle(pilot, "enter", *"jjjjj", "c", *"why", "enter")
        assert 'c: "all"' in shown(app) and 'c: "why"' in shown(app) and "s Send 2 comments" in shown(app)
        await settle(pilot, "escape", "y")
        assert "Not merged: you have 2 unsent comments. s sends them; c on one, emptied, deletes it." in said(app)
        assert " · unproven: it has no check · 2 comments to send" in shown(app), "in one line, in one order"
        await settle(pilot, "escape")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert 'c: "why"' in shown(app)
        await settle(pilot, "s")
        await until(pilot, lambda: "Sent 2 comments" in said(app))
        (sent,) = message_queries.newest(app.link.db, work.agent, 5)
        assert sent.message.text == (
            "Review of your work:\n\nsrc/keys.py\nall\n\nsrc/keys.py:6\n>     fresh = key.new()\nwhy"
            "\n\nReport it ready again when you are done."
        )
        assert state_of(plan, work) == "working" and 'c: "why"' not in shown(app)
        whole = "\n".join(line.split("│ ", 1)[1].split("│")[0].rstrip() for line in lines(app) if line.startswith(" │"))
        assert "You sent back " in shown(app)
        assert whole == '"src/keys.py\nall\n\nsrc/keys.py:6\n>     fresh = key.new()\nwhy"'


async def test_a_comment_on_the_work_as_a_whole_goes_along_with_those_on_its_files(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "g", "c", *"whole", "enter", "j", "c", *"file", "enter", "k")
        assert "  1 comment " in shown(app)
        await settle(pilot, "s")
        await until(pilot, lambda: "Sent 2 comments" in said(app))
        (sent,) = message_queries.newest(app.link.db, work.agent, 5)
        assert "Review of your work:\n\nwhole\n\nsrc/keys.py\nfile\n\n" in sent.message.text


async def test_a_review_is_seen_and_the_task_names_the_comments_that_are_not_sent(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        with Store(plan.path) as store:
            store.commit(EditTask(plan[9], {"priority": 1}), actor="robot-1", now=NOW)
        await until(pilot, lambda: plan[9] in app.context.state.seen.new)
        await review(app, pilot, plan)
        assert plan[9] not in app.context.state.seen.new
        await settle(pilot, "c", *"why", "enter", "escape", "escape")
        await until(pilot, lambda: "1 comment of yours not sent yet" in shown(app))


async def test_a_comment_is_kept_by_esc_and_changed_and_deleted_under_the_cursor(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        on_a_line = (("tab", "j", "j"), ("j",))
        on_the_whole = (("tab", "g"), ("tab", "g"))
        for to_it, back in (on_a_line, on_the_whole):
            await settle(pilot, *to_it, "c", *"ab", "enter", *back, "c", "c", "enter")
            assert 'c: "abc"' in shown(app), to_it
            await settle(pilot, "c", "ctrl+u", "enter")
            assert 'c: "' not in shown(app) and app.screen.reviewed.comments == [], to_it
        await settle(pilot, "tab", "g", "c", *"ab", "enter", "c", "c", "enter")
        assert [comment.text for comment in app.screen.reviewed.comments] == ["abc"], "there is one at each place"
        await settle(pilot, "c", "ctrl+u", "enter", "tab")
        await settle(pilot, "escape", "c", *"all of it", "escape")
        assert "Kept what you typed" in said(app)
        await settle(pilot, "c", "right", "!", "enter")
        assert app.screen.reviewed.comments[0].text == "all of it!"


async def test_y_accepts_what_was_on_screen_and_the_task_is_done(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y")
        assert "Accept the work on #9: merge it into main" in shown(app) and "squash" in shown(app)
        await settle(pilot, "shift+tab", "right")
        assert "a merge commit on main" in shown(app)
        await settle(pilot, "tab", "space")
        assert "the agent continues in its worktree" in shown(app)
        app.key_queue.clock = lambda: 0.0
        await settle(pilot, "space", "shift+tab", "left", "enter", "enter")
        await until(pilot, lambda: "Merged into main" in said(app))
        await until(pilot, lambda: not isinstance(app.screen, ReviewScreen))
        await settle(pilot, "d")
        assert said(app) == "The form is closed: y opens it again. What you typed was dropped."
    assert state_of(plan, work) == "merged"
    assert git(place.root, "log", "--format=%s", "-1") == "Old cookie banner"
    assert "store.put" in (place.root / "src" / "keys.py").read_text()


async def test_the_message_of_a_merge_takes_several_lines_and_esc_keeps_them_and_merges_nothing(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await review(app, pilot, plan)
        before, seq = git(place.root, "rev-parse", "main"), journal.newest(app.link.db)
        await settle(pilot, "a", "e", "!", "ctrl+j", *"why", "escape")
        assert "Kept what you typed: the same key brings it back." in said(app)
        assert (state_of(plan, work), git(place.root, "rev-parse", "main")) == ("ready", before)
        assert journal.newest(app.link.db) == seq
        await settle(pilot, "y")
        assert app.screen.query_one("#answer").value == "Old cookie banner!\nwhy"
        await settle(pilot, "e", "ctrl+j", "alt+enter", *"Since", "shift+enter", *"then", "enter", "enter")
        await until(pilot, lambda: "Merged into main" in said(app))
    assert git(place.root, "log", "--format=%B", "-1").strip() == "Old cookie banner!\nwhy\n\nSince\nthen"


async def test_the_message_of_a_merge_that_is_refused_comes_back(plan, place, make_app, monkeypatch):
    def refuse(self, *_, **__):
        raise Conflict("the checkout has changes")

    monkeypatch.setattr(Acceptance, "accept", refuse)
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y", "tab", "!", "enter", "enter")
        await until(pilot, lambda: "the checkout has changes" in said(app))
        await settle(pilot, "y")
        assert app.screen.query_one("#answer").value == "Old cookie banner!"


async def test_letters_in_the_form_of_a_merge_are_no_message_before_e(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y")
        assert lines(app)[-1].startswith(" Enter twice Merge  e Message  Tab Next field")
        await settle(pilot, "u", "n")
        assert "a first letter changes the value" in said(app)
        form = app.screen
        assert isinstance(form, AcceptForm)
        await settle(pilot, "enter")
        await until(pilot, lambda: "Enter again merges 2 files." in said(app))
        await settle(pilot, "e", "q")
        assert form.words.value == "Old cookie bannerq" and lines(app)[-1].startswith(" Enter Merge  Tab Next field")
        await settle(pilot, "tab", "q")
        assert app.screen is not form
        await settle(pilot, "y")
        assert said(app) == "The message is your draft from before: e edits it."


async def test_files_not_opened_are_merged_at_a_second_enter_alone_and_undo_takes_back_a_merge_and_a_discard(
    plan, place, make_app
):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y", "enter")
        assert "1 of 2 files not opened: tests/test_keys.py" in shown(app)
        assert "You have not opened tests/test_keys.py. Enter again merges 2 files." in said(app)
        assert state_of(plan, work) == "ready"
        await settle(pilot, "escape", "j")
        await until(pilot, lambda: app.screen.unopened == [])
        await settle(pilot, "y", "enter")
        await until(pilot, lambda: "Merged into main" in said(app))
        pause(app)
        await settle(pilot, "u", "y")
        await until(pilot, lambda: "Taken out of main again" in said(app))
        assert state_of(plan, work) == "ready"
        assert git(place.root, "log", "--format=%s", "-1") == "First"
        await review(app, pilot, plan)
        assert app.screen.unopened == [] and "store.put" in shown(app)
        await settle(pilot, "x", "y")
        await until(pilot, lambda: "Discarded" in said(app))
        await settle(pilot, "u")
        await until(pilot, lambda: "Brought back" in said(app))
        assert state_of(plan, work) == "ready"


async def test_an_agent_that_has_ended_cannot_be_said_to_continue(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    with Store(plan.path) as store:
        store.commit(EndSession(work.agent, "its process has ended"), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y", "space")
        assert "its worktree and branch are removed  robot-1 has ended" in shown(app)
        assert "the agent continues" not in shown(app)


async def test_a_accepts_too_as_the_help_says_and_keys_that_do_nothing_name_those_that_are_wanted(
    plan, place, make_app
):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        for key, wanted in (("m", "s Send"), ("d", "x Discard"), ("space", "Enter Diff")):
            await settle(pilot, key)
            assert f" does nothing here.  {wanted}  ? Help" in said(app)
        await settle(pilot, "?", *"work_accept")
        assert "y a" in next(line for line in lines(app) if "Accept the work" in line)
        assert not [entry for entry in app.screen._entries if entry.beside == "asks" and entry.key != ": inbox"]
        await settle(pilot, "escape")
        assert " y Accept" in lines(app)[-1] and " a " not in lines(app)[-1]
        await settle(pilot, "a")
        assert "Accept the work on #9: merge it into main" in shown(app)


async def test_a_key_of_ones_own_for_accept_leaves_a_to_the_inbox(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path, config=Config(keys={"work_accept": "Q"}))
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "Q")
        assert "Accept the work on #9: merge it into main" in shown(app)
        await settle(pilot, "escape", "a")
        assert isinstance(app.screen, Inbox)


async def test_y_refuses_what_came_up_just_now_what_has_moved_since_and_what_was_read_only_below_the_form(
    plan, place, make_app, monkeypatch
):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        monkeypatch.setattr(answer_keys, "READ_SECONDS", 1e9)
        await review(app, pilot, plan)
        await settle(pilot, "y")
        assert "came up just now" in said(app)
        monkeypatch.setattr(answer_keys, "READ_SECONDS", 0.0)
        await settle(pilot, "y")
        write(place.tree, src__keys_py="moved\n")
        await settle(pilot, "enter", "enter")
        await until(pilot, lambda: "look again" in said(app))
        await until(pilot, lambda: "1 not committed" in shown(app))
        screen, before = app.screen, app.screen.reviewed.version
        await settle(pilot, "y")
        commit(place.tree, "Moved")
        screen.read_again()
        await until(pilot, lambda: screen.reviewed.version != before)
        assert "look again" not in said(app)
        await settle(pilot, "e", "!", "enter", "enter")
        await until(pilot, lambda: "look again" in said(app))
    assert state_of(plan, work) == "ready"
    assert git(place.root, "log", "--format=%s", "-1") == "First"


async def test_work_that_main_has_reverted_is_not_said_to_be_in_main(plan, place, make_app):
    git(place.root, "merge", "-q", "--ff-only", git(place.tree, "rev-parse", "HEAD"))
    git(place.root, "revert", "--no-edit", "HEAD~2..HEAD")
    begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        words = " ".join(shown(app).replace("│", "").split())
        assert "It has nothing new for main" in words and "reverted ones stay so" in words
        assert "y Accept as done" in words


async def test_work_whose_changes_main_has_says_so_and_y_sets_its_task_done(plan, place, make_app):
    git(place.root, "checkout", git(place.tree, "rev-parse", "HEAD"), "--", ".")
    before = commit(place.root, "The same")
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "nothing new for main" in shown(app) and "y Accept as done" in shown(app)
        await settle(pilot, "y")
        assert "it has nothing new for main" in shown(app) and "Method" not in shown(app)
        await settle(pilot, "enter", "enter")
        await until(pilot, lambda: "Accepted: it had nothing new for main." in said(app))
        assert state_of(plan, work) == "merged" and git(place.root, "rev-parse", "main") == before
        pause(app)
        await settle(pilot, "3")
        assert "merged: nothing new for main" in shown(app)
        await settle(pilot, "u")
        assert f"work of {work.agent} accepted”" in " ".join(shown(app).split())
        await settle(pilot, "y")
        await until(pilot, lambda: "main keeps its commits" in said(app))
    assert state_of(plan, work) == "ready" and place.tree.is_dir()


@pytest.mark.parametrize("size", [(120, 40), (40, 12)])
async def test_y_counts_the_files_that_were_not_opened_in_the_version_that_is_accepted(plan, place, make_app, size):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await review(app, pilot, plan)
        screen, is_small = app.screen, size == (40, 12)
        await until(pilot, lambda: len(screen.unopened) == (2 if is_small else 1))
        await settle(pilot, "y")
        assert f"{len(screen.unopened)} of 2 files not opened" in shown(app)
        await settle(pilot, "escape")
        for _ in range(2):
            await settle(pilot, *(["enter"] if is_small else []))
            await until(pilot, lambda: "…" not in shown(app) or len(screen.unopened) < 2)
            await settle(pilot, *(["escape"] if is_small else []), "j")
        await until(pilot, lambda: screen.unopened == [])
        await settle(pilot, "y")
        title = "Merge #9 into main" if is_small else "Accept the work on #9"
        assert title in shown(app) and "not opened" not in shown(app)
        await settle(pilot, "escape")
        before, elsewhere = screen.reviewed.version, screen.files.cursor
        commit(place.tree, "Moved", src__keys_py="moved\n")
        screen.read_again()
        await until(pilot, lambda: screen.reviewed.version != before)
        assert elsewhere != "src/keys.py"
        assert len(screen.unopened) == 1, "the other file is as it was when it was opened"
        await settle(pilot, "y")
        assert ("1 of 2 files changed" if is_small else "changed since: src/keys.py") in shown(
            app
        ) and "not opened" not in shown(app)
        await settle(pilot, "escape")
        await settle(pilot)
        await pilot.app.workers.wait_for_complete()


async def test_the_title_of_a_merge_stays_in_sight_on_a_small_screen_whatever_is_said_below_it(
    plan, place, make_app, monkeypatch
):
    begin(plan, 9, place, branch=BRANCH)
    facts = [(f"Fact {number}    which takes two lines on a screen of forty columns", "") for number in range(4)]
    monkeypatch.setattr(AcceptForm, "_facts_lines", lambda form: facts)
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y")
        assert " Merge #9 into main" in lines(app) and "Enter twice Merge" in lines(app)[-1]


async def test_the_form_of_a_merge_names_what_runs_first_and_what_is_not_proven(plan, place, make_app, monkeypatch):
    begin(plan, 9, place, branch=BRANCH)
    gates = (Check("tests", "passed", gate=True), Check("lint", "unproven", gate=True))
    checks = (*gates, Check("types", "running"), Check("docs", "failed"))
    monkeypatch.setattr(Acceptance, "checks", lambda *_: checks)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y")
        at = next(at for at, line in enumerate(lines(app)) if "Checks    tests passed on this tree" in line)
        texts = [line.strip() for line in lines(app)[at + 1 : at + 4]]
        assert texts[0] == "lint must pass on this tree first"
        assert texts[1:] == ["failed on this tree: docs", "on this tree: lint unproven, types being checked"]


async def test_a_gate_that_fails_on_the_merged_tree_says_why_before_it_is_merged_anyway(
    plan, place, make_app, monkeypatch
):
    work = begin(plan, 9, place, branch=BRANCH)
    run = CheckRun(**(dict.fromkeys(CheckRun.__struct_fields__) | {"state": "failed", "output": "Error: no cents\n"}))
    checks = (Check("tests", "failed", run, gate=True), Check("types", "passed", gate=True))
    monkeypatch.setattr(Acceptance, "accept", lambda *_, **how: Outcome("unproven", work, checks=checks))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y", "enter", "enter")
        await until(pilot, lambda: "Not merged: on the merged tree, tests failed: Error: no cents." in shown(app))
        pause(app)
        await settle(pilot, "n")
        assert said(app) == "Not merged. s sends it back to the agent."


async def test_uncommitted_work_is_merged_only_with_a_commit_message_of_the_humans(plan, place, make_app):
    write(place.tree, notes_txt="one\n")
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "y")
        assert "Commit    notes.txt is committed with this message first" in shown(app)
        await settle(pilot, "e", "ctrl+u", "shift+tab", "enter")
        assert said(app) == "The commit needs a message." and "Accept the work on #9" in shown(app)
        await settle(pilot, *"mine", "enter", "enter")
        await until(pilot, lambda: "Merged into main" in said(app))
    assert git(place.root, "log", "--format=%s", "-1") == "mine"
    assert (place.root / "notes.txt").read_text() == "one\n"


async def test_a_conflict_is_named_with_its_files_and_one_key_hands_it_back(plan, place, make_app):
    commit(place.root, "Other", src__keys_py="other\n")
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "It does not merge into main" in shown(app) and "s Hand back" in shown(app)
        await settle(pilot, "y")
        assert "It conflicts with main." in said(app)
        await settle(pilot, "s")
        await until(pilot, lambda: "Sent the conflict" in said(app))
        (sent,) = message_queries.newest(app.link.db, work.agent, 5)
    assert "conflicts in src/keys.py" in sent.message.text
    assert state_of(plan, work) == "working"


async def test_s_without_comments_asks_for_words_and_sends_it_back(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "s", "enter")
        assert state_of(plan, work) == "ready"
        await settle(pilot, "s", *"more", "enter")
        await until(pilot, lambda: "who continues" in said(app))
    assert state_of(plan, work) == "working"


async def test_x_discards_once_confirmed_and_the_task_is_pending(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "x", "enter")
        assert state_of(plan, work) == "ready" and "stays as it is" in said(app)
        await settle(pilot, "x", "y")
        await until(pilot, lambda: "Discarded" in said(app))
        assert not isinstance(app.screen, ReviewScreen)
    assert state_of(plan, work) == "discarded"


async def test_undo_of_a_discard_says_which_agent_has_claimed_the_task_meanwhile(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "x", "y")
        await until(pilot, lambda: "Discarded" in said(app))
        by_agent(plan, "cleo", ClaimTask("cleo", HOUR, plan[9]))
        await settle(pilot, "u")
        await until(pilot, lambda: "cleo has claimed #9 since: set it pending first" in said(app))
    assert state_of(plan, work) == "discarded"


async def test_a_discard_says_that_comments_which_are_not_sent_are_deleted(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "c", *"all", "enter", "x")
        assert "Your 1 unsent comment is deleted." in " ".join(shown(app).split())


async def test_p_shows_the_address_that_it_pushes_to_before_it_does(plan, place, make_app, monkeypatch):
    begin(plan, 9, place, branch=BRANCH)
    git(place.tree, "config", "remote.origin.url", "git@evil.example:ada/api.git")
    app = make_app(plan.path)
    async with app.run_test(size=(40, 12)) as pilot:
        await review(app, pilot, plan)
        monkeypatch.setattr(pull_requests, "GH", "not-there")
        await settle(pilot, "p")
        await until(pilot, lambda: "not-there is not installed: install it" in said(app))
        monkeypatch.setattr(pull_requests, "GH", "sh")
        await settle(pilot, "p")
        await until(pilot, lambda: "open it" in shown(app))
        foot = " ".join(shown(app).split())
        assert "https://evil.example/ada/api.git" in foot.replace(" ", "") and BRANCH in foot
        await settle(pilot, "n")


async def test_the_foot_names_a_pull_request_only_where_one_can_be_opened(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "p Pull request" not in lines(app)[-1]
        await settle(pilot, "p")
        await until(pilot, lambda: "no remote origin: `git remote add origin URL`" in said(app))
        git(place.tree, "config", "remote.origin.url", "git@git.example:ada/api.git")
        app.screen.read_again()
        await until(pilot, lambda: "p Pull request" in lines(app)[-1])


async def test_while_work_is_merged_its_agent_is_not_said_to_be_gone_and_nothing_discards_it(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    with Store(plan.path) as store:
        store.commit(EndSession(work.agent, "its process has ended"), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "x Discard" in lines(app)[-1]
        with Store(plan.path) as store:
            store.commit(BeginMerge(work.uid, {}), actor="human", now=NOW)
        await until(pilot, lambda: "robot-1  merging" in lines(app)[0])
        await settle(pilot, "x")
        assert "It is being merged: wait for the end." in said(app)
        app.context.state.read_agents(NOW + HOUR)
        assert plan[9] not in app.context.state.left and "x Discard" not in shown(app)


async def test_a_review_says_why_its_work_was_not_merged(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    with Store(plan.path) as store:
        store.commit(BeginMerge(work.uid, {}), actor="human", now=NOW)
        store.commit(GiveUpMerge(work.uid, "commit README.md first"), actor="human", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "not merged: commit README.md first" in shown(app)


async def test_discarded_work_that_changed_nothing_is_no_review_once_undo_brings_it_back(plan, place, make_app):
    git(place.tree, "reset", "-q", "--hard", "main")
    work = begin(plan, 9, place, branch=BRANCH, ready=False)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, *named("discard"))
        await settle(pilot, "y")
        await until(pilot, lambda: "Discarded the work of robot-1 on #9" in said(app))
        await settle(pilot, "u")
        told = "Brought back: the work of robot-1 changed nothing, so there is nothing to review."
        await until(pilot, lambda: told in said(app))
        assert "0 files" not in shown(app) and plan[9] not in app.context.state.works.reviewable
    assert state_of(plan, work) == "failed"


async def test_the_works_of_a_race_are_reviewed_side_by_side_and_accepting_one_discards_the_other(
    plan, place, make_app, tmp_path
):
    first = begin(plan, 9, place, branch=BRANCH)
    tree = tmp_path / "git" / "tree-2"
    git(place.root, "worktree", "add", "-q", "-b", "task/second", str(tree))
    commit(tree, "Another way", other_py="x = 1\n")
    second = begin(plan, 9, place._replace(tree=tree), branch="task/second", is_race=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "robot-1  1 of 2" in shown(app)
        await settle(pilot, "right_square_bracket")
        await until(pilot, lambda: "other.py" in shown(app))
        assert "robot-2  2 of 2" in shown(app)
        await settle(pilot, "y")
        assert "discards 1 other work" in shown(app)
        await settle(pilot, "enter")
        await until(pilot, lambda: "1 other work discarded" in said(app))
    assert (state_of(plan, first), state_of(plan, second)) == ("discarded", "merged")


async def test_work_that_cannot_be_read_says_why(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    git(place.root, "branch", "-m", "main", "trunk")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "there is no branch main: merge into another one" in shown(app)
        await settle(pilot, "y")
        assert "there is no branch main: merge into another one" in said(app)


async def test_a_read_only_screen_reviews_and_changes_nothing(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path, read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        for key in "acsx":
            await settle(pilot, key)
            assert "read only" in said(app)


async def test_5000_files_and_a_diff_of_a_megabyte_are_listed_and_read_a_part_at_a_time(plan, place, make_app):
    for number in range(5_000):
        (place.tree / f"file-{number}.txt").write_text("x\n")
    (place.tree / "aaa.py").write_text("value = 'one line of many'\n" * 60_000)
    commit(place.tree, "Many")
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "5,003 files" in shown(app)
        await until(pilot, lambda: "one line of many" in shown(app))
        await settle(pilot, "enter", "G")
        await until(pilot, lambda: "too long to be shown" in shown(app))
        await settle(pilot, "escape", "G")
        assert app.screen.change.path == "tests/test_keys.py"


@pytest.mark.usefixtures("holding_threads")
@pytest.mark.parametrize("then", [(), ("j",)], ids=["no other key", "another key"])
async def test_the_key_that_accepts_a_work_is_kept_while_that_is_read_unless_another_is_pressed(
    plan, place, make_app, monkeypatch, then
):
    work, is_let_go, read = begin(plan, 9, place, branch=BRANCH), threading.Event(), reviewed_work.read_review
    monkeypatch.setattr(reviewed_work, "read_review", lambda *given: is_let_go.wait(DEADLINE) and read(*given))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[9])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ReviewScreen))
        screen = app.screen
        await pilot.press("y")
        await until(pilot, lambda: said(app).startswith("The work is still being read: what accepting it does"))
        await pilot.press(*then)
        is_let_go.set()
        await until(
            pilot, lambda: screen.reviewed.facts.review is not None and isinstance(app.screen, AcceptForm) is (not then)
        )
        await settle(pilot)
        assert isinstance(app.screen, AcceptForm) is (not then)
        assert state_of(plan, work) == "ready"


@pytest.mark.parametrize("is_old", [True, False])
async def test_undo_asks_before_it_takes_a_merge_back_on_the_agents_screen_too(plan, place, make_app, is_old):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    with Store(plan.path) as store:
        acceptance = Acceptance(store, lambda: NOW - 3 * HOUR * is_old)
        acceptance.accept(work, acceptance.review(work))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        for first in ("", "A"):
            await settle(pilot, *first, "u")
            ago = "3h ago" if is_old else "just now"
            assert f"Undo “#9 Old cookie banner: work of {work.agent} merged into main”, {ago}?" in shown(app)
            assert "main loses the merge; the work waits for review." in " ".join(shown(app).split())
            await settle(pilot, "escape")
            assert state_of(plan, work) == "merged"
        await settle(pilot, "u", "y")
        await until(pilot, lambda: state_of(plan, work) == "ready")


async def test_after_the_undo_of_a_merge_from_elsewhere_the_cursor_is_on_its_task(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.select(plan[2])
        with Store(plan.path) as store:
            acceptance = Acceptance(store, lambda: NOW)
            acceptance.accept(work, acceptance.review(work))
        await settle(pilot)
        assert app.pane.target() == plan[2]
        await settle(pilot, "u", "y")
        await until(pilot, lambda: "Taken out of main again" in said(app))
        assert app.pane.target() == plan[9]


async def test_undo_begins_to_correct_an_answer_before_it_takes_back_an_earlier_merge(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    with Store(plan.path) as store:
        acceptance = Acceptance(store, lambda: NOW)
        acceptance.accept(work, acceptance.review(work))
        (ask,) = store.commit(OpenAsk("Which?"), actor="claude-2", now=NOW)
        store.commit(AnswerAsk(ask.uid, "this"), actor="human", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "u", "u")
        assert "Your answer stays. Message to claude-2" in shown(app)
        await settle(pilot, "enter")
        assert said(app) == "Nothing sent. u again undoes the change before your answer."
        assert state_of(plan, work) == "merged"
        await settle(pilot, "u", "y")
        await until(pilot, lambda: state_of(plan, work) == "ready")


async def test_undo_passes_over_comments_that_were_sent_since_a_merge_and_says_so(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    other = begin(plan, 8, place._replace(tree=place.root / "other"), branch="other")
    with Store(plan.path) as store:
        acceptance = Acceptance(store, lambda: NOW)
        acceptance.accept(work, acceptance.review(work))
        store.commit(CommentWork(other.uid, "Nit"), actor="human", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "u")
        await until(pilot, lambda: "the agent has the comments already. u again offers the change before" in said(app))
        await settle(pilot, "u")
        await until(pilot, lambda: "undo it" in shown(app))
        words = " ".join(shown(app).split())
        assert "the agent has the comments already. Undo “#9 Old cookie banner: work of " in words
        await settle(pilot, "y")
        await until(pilot, lambda: state_of(plan, work) == "ready")


async def test_redo_asks_as_undo_does_then_merges_again_what_that_has_brought_back(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await merge(app, pilot, plan)
        merged = git(place.root, "rev-parse", "main")
        await settle(pilot, "u", "y")
        await until(pilot, lambda: "^r merges it again" in said(app))
        await settle(pilot, "ctrl+r")
        await until(pilot, lambda: "merge it again" in shown(app))
        words = " ".join(shown(app).split())
        assert f"Redo “#9 Old cookie banner: work of {work.agent} merged into main”?" in words
        assert "main gets the same merge again; the task is done." in words
        await settle(pilot, "enter")
        assert state_of(plan, work) == "ready"
        await settle(pilot, "ctrl+r")
        await until(pilot, lambda: "merge it again" in shown(app))
        await settle(pilot, "y")
        await until(pilot, lambda: "Merged into main again" in said(app))
        assert state_of(plan, work) == "merged" and git(place.root, "rev-parse", "main") == merged
        await settle(pilot, "u", "y")
        await until(pilot, lambda: "^r merges it again" in said(app))
        assert state_of(plan, work) == "ready" and git(place.root, "rev-parse", "main") != merged
        commit(place.root, "Later", later_txt="x\n")
        await settle(pilot, "ctrl+r")
        await until(pilot, lambda: "main have changed since" in said(app))
    assert state_of(plan, work) == "ready"


async def test_undo_reaches_the_merge_of_an_agent_that_goes_on(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    with Store(plan.path) as store:
        acceptance = Acceptance(store, lambda: NOW)
        acceptance.accept(work, acceptance.review(work), go_on=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "u", "y")
        await until(pilot, lambda: "Taken out of main again" in said(app))
        assert "continues" in said(app)
    assert state_of(plan, work) == "working" and git(place.root, "log", "--format=%s", "-1", "main") == "First"


async def test_undo_offers_a_revert_where_others_have_built_on_a_merge(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await merge(app, pilot, plan)
        commit(place.root, "Later", later_txt="x\n")
        await settle(pilot, "u")
        await until(pilot, lambda: "revert it" in shown(app))
        words = " ".join(shown(app).split())
        assert "main has moved on since: a new commit reverts the merge; the work waits for review." in words
        await settle(pilot, "y")
        await until(pilot, lambda: said(app).startswith("Taken out of main again"))
        assert "merges it again" not in said(app)
    assert state_of(plan, work) == "ready"
    assert "store.put" not in (place.root / "src" / "keys.py").read_text()
    assert (place.root / "later.txt").exists()


async def test_undo_takes_back_what_was_done_after_a_merge_first(plan, place, make_app):
    work = begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "x", "y")
        await until(pilot, lambda: "Discarded" in said(app))
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s", "d", "u")
        assert "Undone" in said(app)
        assert state_of(plan, work) == "discarded"
        app.context.navigation.go_to(plan[9])
        await settle(pilot, *named("bring back"))
        await until(pilot, lambda: "Brought back" in said(app))
    assert state_of(plan, work) == "ready"


async def test_an_agent_that_waits_at_its_prompt_is_woken_by_a_line_and_no_other(plan, place, make_app, monkeypatch):
    work = begin(plan, 9, place, branch=BRANCH, has_terminal=True)
    lines = []
    monkeypatch.setattr(Terminals, "type_line", lambda terminals, name, text: lines.append((name, text)))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        for state, typed in (("waiting", []), ("idle", [comments.PROMPT])):
            with monkeypatch.context() as patch:
                patch.setattr(session_queries, "seen", lambda *_, state=state: SimpleNamespace(state=state))
                await review(app, pilot, plan)
                await settle(pilot, "s", *"more", "enter")
                await until(pilot, lambda: "who continues" in said(app))
            assert lines == [(work.terminal, text) for text in typed], state
            with Store(plan.path) as store:
                store.commit(WorkReady(work.uid), actor="system", now=NOW)
            await until(pilot, lambda: "⇡ #9 to review" in counts_line(app))


async def test_task_agent_and_checks_on_this_tree_stand_above_the_diff_at_every_size(
    plan, place, make_app, monkeypatch
):
    begin(plan, 9, place, branch=BRANCH)
    checks = (Check("tests", "passed", gate=True), Check("types", "failed"))
    monkeypatch.setattr(Acceptance, "checks", lambda *_: checks)
    app = make_app(plan.path)
    async with app.run_test(size=SIZES[0]) as pilot:
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await review(app, pilot, plan)
            await settle(pilot, "tab")
            await until(pilot, lambda: "store.put" in shown(app))
            head = lines(app)[0]
            assert "#9 Old cookie ban" in head and "robot-1" in head
            assert any("◐ claude-1 " in line for line in lines(app)[:3]), "what agents do"
            if size[0] < 60:
                assert "✓ 1" in head and "✗ 1" in head
            else:
                facts = next(line for line in lines(app) if "on this tree" in line)
                assert facts.startswith("─ 2 files +7 -1 · ") and "✗ types  ✓ tests  on this tree" in facts
            await settle(pilot, "escape", "escape")
            assert not isinstance(app.screen, ReviewScreen)


async def test_r_runs_the_checks_of_the_task_and_a_task_without_checks_says_so(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "Run checks" not in lines(app)[-1]
        await settle(pilot, "r")
        assert said(app) == "The task has no check to run."
        with Store(plan.path) as store:
            checks = (NamedCheck("tests", "1", cwd=str(place.root), gate=True),)
            store.commit(DefineChecks("checks.toml", checks), GiveChecks(plan[9], ("tests",)), actor="human", now=NOW)
        await until(pilot, lambda: "r Run checks" in lines(app)[-1])
        await settle(pilot, "r")
        assert said(app) == "The checks of “Old cookie banner” are being run."
        (run,) = check_queries.runs_in(app.link.db, "waiting")
        assert run.cwd == str(place.tree)


@pytest.mark.parametrize(
    ("output", "leaves", "says"),
    [
        ("AssertionError: no", "", "tests failed: AssertionError: no."),
        ("", "left", "tests passed while files changed. r runs"),
    ],
)
async def test_the_first_r_says_how_the_checks_ended_and_whether_files_changed_meanwhile(
    plan, place, make_app, output, leaves, says
):
    begin(plan, 9, place, branch=BRANCH)
    app = make_app(plan.path)
    with Store(plan.path) as store:
        checks = Checks(store, lambda: NOW, NamedCheck("tests", "1", cwd=str(place.root)))
        store.commit(GiveChecks(plan[9], ("tests",)), actor="human", now=NOW)
        async with app.run_test(size=(120, 40)) as pilot:
            await review(app, pilot, plan)
            await settle(pilot, "r")
            run = checks.begin(git_trees.tree_of(place.tree))
            if leaves:
                (place.tree / leaves).write_text("x")
            outcome = "failed" if output else "passed"
            checks.end(run, outcome, output=output, tree=git_trees.tree_of(place.tree))
            await until(pilot, lambda: says in said(app))


async def test_an_agent_that_gets_stuck_stands_above_the_review(plan, place, make_app):
    begin(plan, 9, place, branch=BRANCH)
    with Store(plan.path) as store:
        store.commit(NoteStuck("claude-1", "failure", "the same failure 3 times", NOW), actor="system", now=NOW)
        for ask in ask_queries.open_asks(store.db):
            store.commit(AnswerAsk(ask.uid, "yes"), actor="human", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await review(app, pilot, plan)
        assert "▲ claude-1 stuck" in counts_line(app) and agents_line(app).startswith(" ▲ claude-1 stuck #5")


async def test_work_on_the_base_branch_itself_is_accepted_with_nothing_merged_or_removed(plan, place, make_app):
    before = git(place.root, "rev-parse", "main")
    with Store(plan.path) as store:
        on_main = {"branch": "main", "base": "main", "base_commit": before, "makes_worktree": False}
        start = StartWork(plan[9], "robot", str(place.root), str(place.root), **on_main)
        (work,) = store.commit(start, actor="human", now=NOW)
        store.commit(RunWork(work.uid), actor="system", now=NOW)
        store.commit(WorkReady(work.uid), actor="system", now=NOW)
    commit(place.root, "Rotate", keys_txt="rotated\n")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        assert "1 commit on main itself" in shown(app) and "ahead of main" not in shown(app)
        await settle(pilot, "y")
        assert "Accept the work on #9: it is on main already" in shown(app)
        assert "nothing is removed" in shown(app)
        assert not any(word in shown(app) for word in ("Method", "Message", "squash", "worktree and branch"))
        assert lines(app)[-1].lstrip().startswith("Enter Accept") and "Change" not in lines(app)[-1]
        await settle(pilot, "enter")
        await until(pilot, lambda: "Accepted: main has it already. u brings it back for review." in said(app))
        pause(app)
        await settle(pilot, "u")
        await until(pilot, lambda: "main keeps its commits; the work waits for review." in shown(app))
        await settle(pilot, "y")
        await until(pilot, lambda: "main keeps its commits: the work of" in said(app))
        await review(app, pilot, plan)
        await settle(pilot, "x")
        assert "main keeps its commits." in shown(app)
    assert git(place.root, "log", "-1", "--format=%s", "main") == "Rotate"


async def test_a_rebase_asks_for_no_message_and_a_failed_check_for_a_second_enter(plan, place, make_app, monkeypatch):
    work = begin(plan, 9, place, branch=BRANCH, makes_worktree=True)
    monkeypatch.setattr(Acceptance, "checks", lambda *_: (Check("tests", "failed"),))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await review(app, pilot, plan)
        await settle(pilot, "j")
        await until(pilot, lambda: app.screen.unopened == [])
        await settle(pilot, "y", "shift+tab", "r")
        assert "its commits, rebased" in shown(app) and "Message" not in shown(app)
        await settle(pilot, "s")
        assert "Message" in shown(app)
        await settle(pilot, "enter")
        assert said(app).startswith("tests failed on this tree. Enter again merges 2 files.")
        assert state_of(plan, work) == "ready"
