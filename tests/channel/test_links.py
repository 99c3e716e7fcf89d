"""Links of a task to its work (docs: protocol, section 7, `control:link`)."""

import pytest

from tests.talking import add, task

BRANCH = {"kind": "branch", "target": "phone"}
FILE = {"kind": "file", "target": "src/a b.py"}


def test_a_task_names_its_work_and_everybody_is_told(talk):
    uid = add(talk)
    assert task(talk, uid)["links"] == []
    talk.ok("control:link", uid=uid, **BRANCH)
    shown = talk.ok("control:link", uid=uid, **FILE)
    assert (shown["links"], shown["version"]) == ([BRANCH, FILE], 3)
    assert task(talk, uid) == shown
    (told,) = talk.ok("control:history", limit=1)["entries"]
    assert (told["event"], told["changes"]) == ("task.updated", {"links": [[BRANCH], [BRANCH, FILE]]})
    assert told["task"]["links"] == [BRANCH, FILE]


def test_a_link_that_is_there_stays_where_it_is_and_changes_nothing(talk):
    uid = add(talk)
    talk.ok("control:link", uid=uid, **BRANCH)
    talk.ok("control:link", uid=uid, **FILE)
    assert talk.ok("control:link", uid=uid, **BRANCH)["links"] == [BRANCH, FILE]
    assert task(talk, uid)["version"] == 3


def test_a_link_is_taken_away_and_the_undo_brings_it_back(talk):
    uid = add(talk)
    talk.ok("control:link", uid=uid, **BRANCH)
    assert talk.ok("control:link", uid=uid, remove=True, **BRANCH)["links"] == []
    assert talk.ok("control:link", uid=uid, remove=True, **BRANCH)["version"] == 3
    talk.ok("control:undo")
    assert task(talk, uid)["links"] == [BRANCH]


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("branch", "--output=/etc/passwd"),
        ("branch", "a..b"),
        ("branch", "a b"),
        ("branch", "main@{1}"),
        ("commit", "HEAD"),
        ("commit", "-1234"),
        ("pull_request", "http://example.org/1"),
        ("pull_request", "javascript:alert(1)"),
        ("pull_request", "https://user:secret@example.org/1"),
        ("pull_request", "https://github.com@example.org/1"),
        ("file", "a\x1b]52;c;aGk=\x07b"),
        ("file", "a\u202egpj.py"),
        ("file", "a\0b"),
        ("file", " "),
        ("file", "a" * 2_001),
        ("page", "x"),
    ],
)
def test_what_is_no_such_target_is_refused_and_nothing_is_written(talk, kind, target):
    uid = add(talk)
    assert talk.refused("control:link", uid=uid, kind=kind, target=target)["code"] == "invalid_argument"
    assert task(talk, uid)["version"] == 1


def test_a_task_has_up_to_fifty_links(talk):
    uid = add(talk)
    for number in range(50):
        talk.ok("control:link", uid=uid, kind="file", target=f"{number}.py")
    assert talk.refused("control:link", uid=uid, kind="file", target="50.py")["code"] == "invalid_argument"
    assert len(talk.ok("control:link", uid=uid, kind="file", target="49.py")["links"]) == 50
