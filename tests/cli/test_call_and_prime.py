"""The commands of agents: `call`, and `prime`, what an agent needs to know to start."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from tests.conftest import START
from tests.talking import add
from tui_tasks.cli import call_and_prime
from tui_tasks.cli.main import main
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read.tasks import ready_tasks
from tui_tasks.core.store import Store


def test_a_long_result_is_printed_without_being_held_as_objects(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=START)
        store.commit(*(AddTask(f"task {number}", home.uid) for number in range(4_000)), actor="agent", now=START)
    line = ["--db", str(path), "call", "tasklist:display"]
    assert main([*line, "--list", "none"]) == 0, "what is imported once is not counted"
    capsys.readouterr()
    size = 0

    def count(text: str) -> int:
        nonlocal size
        size += len(text)
        return len(text)

    with monkeypatch.context() as printing:
        printing.setattr("sys.stdout.write", count)
        tracemalloc.start()
        try:
            assert main(line) == 0
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert size > 500_000
    assert peak < 5 * size, peak / size
    assert main(line) == 0
    assert len(json.loads(capsys.readouterr().out)) == 4_000


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["tasklist:get_task", "uid=1"], {"name": "first"}),
        (["control:claim", "uid=1"], {"claim": ...}),
        (["tasklist:add_task", 'name="4"'], {"name": "4"}),
        (["tasklist:add_task", "name=one=2"], {"name": "one=2"}),
        (["control:update_task", "uid=1", 'tags=["a", "b"]', "domain=null"], {"tags": ["a", "b"], "domain": None}),
        (["control:history", "since=0", "limit=1"], {"entries": ...}),
        (["task", "action=list", "limit=1"], {"content": ...}),
    ],
)
def test_a_word_is_json_or_a_string_and_a_number_of_a_task_names_it(
    path: Path, capsys: pytest.CaptureFixture[str], words: list[str], result: dict[str, object]
) -> None:
    line = ["call", "--db", str(path)]
    assert main([*line, "tasklist:add_task", "name=first"]) == 0
    capsys.readouterr()
    assert main([*line, *words]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {name: ... if value is ... else printed[name] for name, value in result.items()} == result


def test_a_word_that_no_type_takes_is_refused_with_its_type(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "--db", str(path), "control:history", "limit=many"]) == 1
    assert "limit: expected integer, got string" in capsys.readouterr().err


def test_a_missing_argument_is_asked_for_as_a_shell_gives_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "--db", str(path), "tasklist:add_task"]) == 1
    error = json.loads(capsys.readouterr().err)
    told = "missing argument name; type name=VALUE: it takes name"
    assert error["message"].endswith(told + ", description") and told in error["data"]["problems"][0]["message"]


def test_prime_counts_what_is_open_and_reads_no_more_tasks_than_it_tells(talk, monkeypatch):
    uids = [add(talk, str(number)) for number in range(20)]
    talk.ok("tasklist:set_task_done", uid=uids[0])
    read = []
    made = ready_tasks.read_task
    monkeypatch.setattr(ready_tasks, "read_task", lambda row: read.append(row) or made(row))
    told = call_and_prime.prime_text(talk.session)
    assert "Open tasks: 19\n" in told
    assert "- and 7 more:" in told
    assert 0 < len(read) <= call_and_prime.MAX_TASKS + 1
