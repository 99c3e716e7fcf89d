"""The lines of a review: what an agent names in its worktree hides nothing that is said beside it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tui_tasks.text.safe import cell_len
from tui_tasks.tui.painting.text_lines import quoted
from tui_tasks.tui.work.review_text import WorkFacts, _checks, path_line, summary_word
from tui_tasks.work.git.reviewing import CommitLine, FileChange


@pytest.mark.parametrize("name", ["漢字" * 60 + ".py", "src/" * 60 + "keys.py"])
def test_a_long_path_leaves_its_end_and_what_is_said_beside_it_on_screen(name):
    parts = path_line(FileChange(name, None, "A", 1, 0, is_committed=False), "  1 of 3", 80)
    text = "".join(part for part, _ in parts)
    assert cell_len(text) <= 80
    assert text.endswith(".py  1 of 3  not committed")


def test_no_line_of_an_agents_summary_looks_like_a_check_of_the_screen():
    lines = quoted("Done.\n\n Checks on this tree\n   ✓ tests   passed  gates\x85 x", 40)
    assert ["".join(text for text, _ in line) for line in lines] == [
        ' │ "Done.',
        " │ ",
        " │  Checks on this tree",
        " │    ✓ tests   passed  gates",
        ' │  x"',
    ]
    assert ["".join(text for text, _ in line) for line in quoted("Done.", 40)] == [' "Done."']


def test_a_check_that_a_later_change_has_made_stale_is_not_said_to_have_met_it_while_it_ran():
    run = SimpleNamespace(state="stale", output="")
    check = SimpleNamespace(name="tests", state="stale", host="", gate=False, run=run)
    facts = SimpleNamespace(checks=[check], task=SimpleNamespace(number=1))
    context = SimpleNamespace(ascii_only=False, keymap=SimpleNamespace(key_of=lambda _: "r"))
    text = " ".join(part for line in _checks(context, facts, 90) for part, _ in line)
    assert "It passed, but its files have changed since it began. r runs it again." in text


def test_short_names_of_checks_leave_room_for_their_states_in_a_narrow_column():
    named = {"lint": True, "tests": False}
    checks = [
        SimpleNamespace(name=name, state="unproven", host="", gate=gate, run=None) for name, gate in named.items()
    ]
    facts = SimpleNamespace(checks=checks, task=SimpleNamespace(number=1))
    _, _, *lines = _checks(SimpleNamespace(ascii_only=False), facts, 34)
    texts = ["".join(text for text, _ in line) for line in lines]
    assert texts == ["   □ lint  unproven  gates", "   □ tests unproven"]


@pytest.mark.parametrize(
    ("version", "state", "is_same"),
    [("c1", "ready", True), ("c0", "ready", False), ("c1+t1", "ready", False), ("c1", "working", False)],
)
def test_work_that_comes_back_as_it_was_sent_back_says_so_whatever_the_dates_of_its_commits(version, state, is_same):
    review = SimpleNamespace(
        commits=[CommitLine("c1", "Ada", 90, "Add it")],
        version=version, is_dirty=False, conflicts=(), uncommitted=("a",), files=(), adds_nothing=False,
        counts=lambda: {"insertions": 1, "deletions": 0},
    )  # fmt: skip
    work = SimpleNamespace(state=state, is_on_base=False)
    facts = WorkFacts(None, work, review=review, sent=("Once more", 150), sent_version="c1")
    assert facts.is_same is is_same and ("as you sent it back" in summary_word(facts)) is is_same
