"""What has happened to the tasks that agents have changed since the human looked."""

from __future__ import annotations

from collections import Counter

from tui_tasks.core.read.overview import Change
from tui_tasks.core.read.unseen_changes import UnseenChanges


def noted(*entries: tuple[str, str, str | None], home: int = 1) -> UnseenChanges:
    unseen = UnseenChanges()
    unseen.note(
        Change(seq, 0, "agent", kind, "task", task, task, home, become=become)
        for seq, (task, kind, become) in enumerate(entries)
    )
    return unseen


def agree(unseen: UnseenChanges) -> None:
    assert unseen.new.keys() == unseen.words.keys()
    assert +unseen.counts == Counter((unseen.new[uid], unseen.words[uid]) for uid in unseen.new)


def test_the_last_status_says_more_than_being_new_and_that_more_than_notes_and_edits() -> None:
    unseen = noted(
        ("a", "task.logged", None),
        ("a", "task.updated", None),
        ("b", "task.created", None),
        ("b", "task.logged", None),
        ("c", "task.updated", "in_progress"),
        ("c", "task.updated", "done"),
        ("c", "task.logged", None),
        ("d", "task.moved", None),
    )
    assert unseen.words == {"a": "logged", "b": "new", "c": "done", "d": "edited"}
    agree(unseen)


def test_a_merge_of_the_human_s_and_what_is_cleaned_up_after_it_are_not_new() -> None:
    unseen = UnseenChanges()
    merge = [("human", "work.merged", None), ("human", "task.updated", "done"), ("system", "work.updated", None)]
    unseen.note(Change(seq, 0, *entry[:2], "work", "w", "a", 1, become=entry[2]) for seq, entry in enumerate(merge))
    assert not unseen.new
    unseen.note([Change(9, 0, "system", "work.failed", "work", "w", "a", 1)])
    assert unseen.words == {"a": "agent failed"}


def test_a_heartbeat_is_no_news() -> None:
    assert not noted(("a", "claim.extended", None)).new


def test_a_lapsed_claim_says_why_its_task_is_pending_again_until_the_next_status() -> None:
    lapse = (("a", "task.updated", "pending"), ("a", "claim.lapsed", None))
    assert noted(*lapse).words == noted(*lapse, ("a", "task.logged", None)).words == {"a": "claim lapsed"}
    assert noted(*lapse, ("a", "task.updated", "in_progress")).words == {"a": "started"}
    assert noted(("a", "task.updated", "pending")).words == {"a": "reopened"}


def test_a_question_that_waits_no_more_is_neither_asked_nor_an_edit() -> None:
    unseen = noted(("a", "ask.withdrawn", None), ("b", "ask.opened", None), ("b", "ask.timeout", None))
    assert unseen.words == {"a": "question closed", "b": "question closed"}
    agree(unseen)


def test_what_was_seen_or_deleted_has_no_word_and_begins_anew() -> None:
    unseen = noted(("a", "task.updated", "failed"), ("b", "task.updated", "done"), ("b", "task.deleted", None))
    agree(unseen)
    unseen.forget("a")
    assert not unseen.words and not +unseen.counts
    unseen.note([Change(9, 0, "agent", "task.logged", "log", "x", "a", 1)])
    assert unseen.words == {"a": "logged"}
    agree(unseen)


def test_changes_that_are_joined_count_each_task_once_in_the_list_that_it_is_in_now() -> None:
    joined = noted(("a", "task.updated", "done"), ("b", "task.created", None)).followed_by(
        noted(("a", "task.logged", None), ("c", "task.logged", None), home=2)
    )
    assert joined.words == {"a": "done", "b": "new", "c": "logged"}
    assert joined.new == {"a": 2, "b": 1, "c": 2}
    agree(joined)


def test_a_task_that_the_human_has_decided_about_is_seen_and_what_git_says_of_its_work_changes_nothing() -> None:
    unseen = noted(("a", "task.updated", None), ("b", "task.updated", "in_progress"), ("c", "work.updated", None))
    assert unseen.words == {"a": "edited", "b": "started"}
    unseen.note([Change(9, 0, "human", "task.updated", "task", "a", "a", 1, become="done")])
    unseen.note([Change(10, 0, "system", "work.updated", "work", "w", "a", 1)])
    unseen.note([Change(11, 0, "human", "task.updated", "task", "b", "b", 1)])
    assert unseen.words == {"b": "started"}
    agree(unseen)
