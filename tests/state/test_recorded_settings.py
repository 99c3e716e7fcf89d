"""Checks and reviewed lists are the database's: a process with other settings neither changes nor steps round them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.client import Agent
from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.core.errors import Forbidden
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations.jobs import BeginCheck, ClaimCheck, DefineChecks, EndCheck, RecordSettings
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read import check_queries
from tui_tasks.core.rules.recorded_settings import AskLimits, RecordedSettings, ReviewPolicy, recorded
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.store import Store
from tui_tasks.runner import processes
from tui_tasks.runner.checks.check_keeper import Authority, CheckKeeper
from tui_tasks.runner.checks.input_files import InputHasher
from tui_tasks.settings.live_settings import answer_rules, ask_limits, check_profiles, review_settings
from tui_tasks.state import callers

SETTINGS = """
[review]
lists = ["filed"]
limit = 3
[check.tests]
command = ["true"]
inputs = ["src/*"]
lists = ["work"]
gate = true
"""
Keep = Callable[..., None]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The human's settings, with an input of their check beside them."""
    path = tmp_path / "config.toml"
    path.write_text(SETTINGS)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").write_text("good")
    return path


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "state" / "tasks.db"
    with Store(str(path)) as store:
        store.commit(EnsureList("work", "task"), EnsureList("filed", "task"), actor="human", now=clock.now())
    return path


def keep(db: Path, file: Path, authority: Authority, *, alone: bool = False) -> None:
    """What a process with these settings does at its start."""
    review, rules = review_settings(lambda: file), answer_rules(lambda: file)
    asks = ask_limits(lambda: file)
    keeper = CheckKeeper(check_profiles(lambda: file), review, rules, asks, authority=authority, alone=alone)
    with Store(str(db)) as store:
        keeper.look(store, clock.now())
    keeper.close()


def held(db: Path, list_name: str, review: ReviewPolicy) -> bool:
    """Whether what an agent files is held, in a process whose own settings have this policy."""
    with Store(str(db)) as store:
        store.review = lambda: review
        (home,) = store.commit(EnsureList(list_name, "task"), actor="agent", now=clock.now())
        (task,) = store.commit(AddTask("x", home.uid), actor="agent", now=clock.now())
    return bool(task.held)


def passed(db: Path, file: Path) -> str:
    """A task whose gate has passed with the inputs as they are; its uid."""
    with Agent(db, "--no-scheduler") as agent:
        uid = agent.ok("tasklist:add_task", {"list": "work"}, name="gated")["uid"]
        agent.ok("control:request_check", uid=uid)
        assert agent.finish() == []
    inputs = InputHasher(str(file.parent), ("src/*",)).digest()
    with Store(str(db)) as store:
        (run,) = check_queries.runs_in(store.db, "waiting")
        beat = Heartbeat(run.uid, False, *processes.identity(), at=clock.now())
        supervisor = Heartbeat(run.uid, True, *processes.identity(), at=clock.now())
        for step in (
            ClaimCheck(run.uid, beat, 1),
            BeginCheck(run.uid, supervisor, inputs),
            EndCheck(run.uid, "passed", inputs, 0),
        ):
            store.commit(step, actor="system", now=clock.now())
    return str(uid)


def test_a_persons_screen_records_its_settings_and_another_file_changes_nothing(db, file, tmp_path) -> None:
    keep(db, file, Authority.RECORDS, alone=True)
    other = tmp_path / "empty.toml"
    other.write_text('[check.other]\ncommand = ["false"]\nlists = ["work"]\n[review]\nlists = ["work"]\n')
    for authority in Authority:
        keep(db, other, authority, alone=True)
    with Store(str(db), read_only=True) as store:
        assert recorded(store.db) == RecordedSettings(str(file), ReviewPolicy(("filed",), 3))
        assert [(each.name, each.gate, each.cwd) for each in check_queries.definitions(store.db)] == [
            ("tests", True, str(tmp_path))
        ]
    assert held(db, "filed", ReviewPolicy())
    assert not held(db, "work", ReviewPolicy(("work",)))


def test_a_change_of_the_recorded_file_is_written_by_a_scheduler_and_not_by_a_channel(db, file) -> None:
    keep(db, file, Authority.RECORDS)
    file.write_text('[review]\nlists = ["work"]\njobs = true\n')
    for authority in (Authority.LOOKS, Authority.ADDS):
        keep(db, file, authority)
    with Store(str(db), read_only=True) as store:
        assert recorded(store.db).policy.lists == ("filed",)
        assert len(check_queries.definitions(store.db)) == 1
    keep(db, file, Authority.UPDATES)
    with Store(str(db), read_only=True) as store:
        assert recorded(store.db).policy == ReviewPolicy(("work",), jobs=True)
        assert check_queries.definitions(store.db) == ()


def rules_of(db: Path, file: Path, authority: Authority) -> list[str]:
    """The standing answers of a database after a process with these settings has started."""
    keep(db, file, authority)
    with Store(str(db), read_only=True) as store:
        return [str(one) for one in recorded(store.db).rules]


def test_standing_answers_are_recorded_and_another_file_adds_none(db, file, tmp_path) -> None:
    rule = '[[rule]]\nanswer = "allow"\ntool = "Bash"\npattern = "git status"\n'
    file.write_text(rule)
    assert rules_of(db, file, Authority.RECORDS) == ["allow Bash git status"]
    other = tmp_path / "other.toml"
    other.write_text(rule.replace("git status", "rm"))
    assert rules_of(db, other, Authority.RECORDS) == ["allow Bash git status"]
    file.write_text("")
    assert rules_of(db, file, Authority.UPDATES) == []


def test_how_many_questions_may_wait_is_recorded_and_no_other_settings_raise_it(db, file, tmp_path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[asks]\nlimit = 1000\ntotal = 10000\n")
    for authority in (Authority.LOOKS, Authority.ADDS, Authority.UPDATES):
        keep(db, other, authority)
        with Store(str(db), read_only=True) as store:
            assert recorded(store.db) is None
    file.write_text("[asks]\nlimit = 7\ntotal = 70\n")
    keep(db, file, Authority.RECORDS)
    keep(db, other, Authority.RECORDS)
    with Store(str(db), read_only=True) as store:
        assert recorded(store.db).asks == AskLimits(limit=7, total=70)


def test_where_nothing_is_recorded_each_process_goes_by_its_own_settings_and_only_a_person_records(db, file) -> None:
    for authority in (Authority.LOOKS, Authority.ADDS, Authority.UPDATES):
        keep(db, file, authority)
        with Store(str(db), read_only=True) as store:
            assert recorded(store.db) is None
            assert len(check_queries.definitions(store.db)) == (authority > Authority.LOOKS)
    assert held(db, "work", ReviewPolicy(("work",)))
    assert not held(db, "work", ReviewPolicy())


def test_settings_that_say_nothing_of_checks_and_review_are_not_recorded(db, tmp_path) -> None:
    keep(db, tmp_path / "none.toml", Authority.RECORDS, alone=True)
    with Store(str(db), read_only=True) as store:
        assert recorded(store.db) is None


def test_no_agent_and_no_other_file_gets_past_the_rules_of_the_state(db, file) -> None:
    keep(db, file, Authority.RECORDS)
    with Store(str(db)) as store:
        for operation, actor in (
            (RecordSettings("/evil"), "agent"),
            (RecordSettings("/evil"), "shell"),
            (RecordSettings("/evil"), "system"),
            (DefineChecks("/evil", (), alone=True), "system"),
        ):
            with pytest.raises(Forbidden):
                store.commit(operation, actor=actor, now=clock.now())


@pytest.mark.parametrize("other", ["empty", "in a run"])
def test_a_channel_with_other_settings_does_not_step_round_a_gate(db, file, tmp_path, other) -> None:
    """Its check had passed; then the content became bad, and a channel that knows of no check sets it done."""
    keep(db, file, Authority.RECORDS)
    uid = passed(db, file)
    (tmp_path / "src" / "main.py").write_text("evil")
    (tmp_path / "empty.toml").touch()
    settings = tmp_path / "empty.toml" if other == "empty" else file
    environ = {"TUI_TASKS_CONFIG": str(settings)} | ({"TUI_TASKS_RUN_TOKEN": "x"} if other == "in a run" else {})
    with Agent(db, "--no-scheduler", **environ) as agent:
        error = agent.refused("tasklist:set_task_done", uid=uid)
        assert (error["code"], error["data"]["verified"]) == ("conflict", "stale")
        assert agent.finish() == []


def test_an_import_does_not_step_round_a_gate_either(db, file, tmp_path, monkeypatch, capsys) -> None:
    keep(db, file, Authority.RECORDS)
    uid = passed(db, file)
    (tmp_path / "src" / "main.py").write_text("evil")
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(tmp_path / "no.toml"))
    (tmp_path / "tasks.jsonl").write_text(f'{{"uid": "{uid}", "name": "gated", "status": "done"}}\n')
    assert main(["import", "jsonl", str(tmp_path / "tasks.jsonl"), "--db", str(db), "--list", "work"]) == 1
    assert "has passed (stale)" in capsys.readouterr().err


def test_a_person_says_at_a_terminal_whose_settings_hold_and_the_program_says_whose_do(
    db, file, tmp_path, monkeypatch, capsys
) -> None:
    keep(db, file, Authority.RECORDS)
    other = tmp_path / "other.toml"
    other.write_text('[review]\nlists = ["work"]\n')
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(other))
    assert main(["doctor", "--db", str(db)]) == 1
    assert f"checks and reviewed lists come from {file}" in capsys.readouterr().out
    monkeypatch.setattr(callers, "has_terminal", lambda: False)
    assert main(["config", "--use", "--db", str(db)]) == 1
    monkeypatch.setattr(callers, "has_terminal", lambda: True)
    assert main(["config", "--use", "--db", str(db)]) == 0
    with Store(str(db), read_only=True) as store:
        assert recorded(store.db) == RecordedSettings(str(other), ReviewPolicy(("work",)))
        assert check_queries.definitions(store.db) == ()


def test_what_is_recorded_is_in_the_journal(db, file) -> None:
    keep(db, file, Authority.RECORDS)
    file.write_text("[review]\nlimit = 9\n")
    keep(db, file, Authority.UPDATES)
    with Store(str(db)) as store, Store(":memory:") as again:
        replay(store.db, again.db)
        for name in STATE:
            query = f"SELECT * FROM {name} ORDER BY 1, 2"
            assert again.db.sql(query).fetchall() == store.db.sql(query).fetchall()
