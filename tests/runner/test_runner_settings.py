"""`[runner]` and `[runner.NAME]` of the configuration file."""

import pytest

from tui_tasks.runner.runner_settings import AgentSettings, RunnerProfile
from tui_tasks.settings.run_tables import read_runners as read


def test_the_default_runner_and_named_ones_that_take_from_it_what_they_do_not_say():
    table = {
        "command": ["agent", "-p"],
        "environment": ["ANTHROPIC_*"],
        "timeout": 60,
        "max_parallel": 2,
        "codex": {"command": ["codex", "exec", "-"], "cwd": "~/work"},
    }
    runners, wrong = read(table, "config.toml")
    assert wrong == []
    assert runners.max_parallel == 2
    assert runners.profiles == {
        "": RunnerProfile("", ("agent", "-p"), None, ("ANTHROPIC_*",), 60),
        "codex": RunnerProfile("codex", ("codex", "exec", "-"), "~/work", ("ANTHROPIC_*",), 60),
    }


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"command": "rm -rf"}, "runner.command"),
        ({"command": []}, "runner.command"),
        ({"command": [""]}, "runner.command"),
        ({"command": ["", "a"]}, "runner.command"),
        ({"command": ["a", "b\x00c"]}, "runner.command"),
        ({"command": ["a"], "timeout": 0}, "runner.timeout"),
        ({"command": ["a"], "shell": True}, "runner.shell"),
        ({"max_parallel": 0}, "runner.max_parallel"),
        ({"claude": {"timeout": 5}}, "runner.claude.command"),
        ({"claude": {"command": ["a"], "grace": "long"}}, "runner.claude.grace"),
        ({"command": ["a"], "max_turns": 5}, "runner.max_turns"),
        ({"review": {"kind": "claude", "max_cost": 0}}, "runner.review.max_cost"),
        ({"review": {"kind": "codex", "max_cost": 1}}, "runner.review.max_cost"),
        ({"review": {"kind": "gemini", "command": ["a"]}}, "runner.review.kind"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(table, key):
    _, wrong = read(table, "config.toml")
    assert [problem.key for problem in wrong] == [key]


def test_a_word_of_a_command_may_be_empty_but_its_program():
    command = ["claude", "-p", "--tools", ""]
    runners, wrong = read({"command": command, "bad": {"command": ["", "a"]}}, "config.toml")
    assert runners.profiles[""].command == tuple(command)
    assert str(wrong[0]) == "runner.bad.command: takes the name of a program as the first word"


def test_what_is_wrong_in_one_runner_leaves_the_others():
    runners, wrong = read({"command": ["a"], "bad": {"command": [1]}, "good": {"command": ["b"]}}, "config.toml")
    assert set(runners.profiles) == {"", "good"}
    assert len(wrong) == 2
    assert "runner.bad.command" in runners.missing("bad")


def test_what_is_wrong_in_a_runner_is_not_told_of_the_default_one():
    commander = {"command": ["b"], "timeout": 0}
    runners, wrong = read({"command": ["a"], "commander": commander}, "config.toml")
    assert [problem.key for problem in wrong] == ["runner.commander.timeout"]
    assert set(runners.profiles) == {""}
    runners, _ = read({"commander": commander}, "config.toml")
    assert "add [runner]" in runners.missing("")


def test_a_missing_runner_names_the_file_to_edit():
    runners, _ = read({}, "/home/me/.config/tui-tasks/config.toml")
    assert "[runner]" in runners.missing("")
    assert "[runner.codex]" in runners.missing("codex")
    assert "/home/me/.config/tui-tasks/config.toml" in runners.missing("")


def test_only_what_is_allowed_is_passed_on():
    profile = RunnerProfile("", ("a",), environment=("OPENAI_*", "MODE=test=1"))
    environ = {"PATH": "/bin", "LC_ALL": "C", "OPENAI_API_KEY": "k", "SECRET": "s", "MODE": "other"}
    assert profile.passed_on(environ) == {"PATH": "/bin", "LC_ALL": "C", "OPENAI_API_KEY": "k", "MODE": "test=1"}


def test_a_runner_that_is_an_agent_program_takes_the_command_of_its_own_kind_alone():
    table = {
        "command": ["agent", "-p"],
        "cwd": "~/work",
        "review": {"kind": "claude", "model": "opus", "max_cost": 2, "max_turns": 5, "wait": 0},
        "own": {"kind": "claude", "command": ["/opt/claude"], "args": ["--effort", "low"]},
    }
    runners, wrong = read(table, "config.toml")
    assert wrong == []
    review = AgentSettings(kind="claude", model="opus", max_cost=2, max_turns=5, wait=0)
    assert runners.profiles["review"] == RunnerProfile("review", ("claude",), "~/work", agent=review)
    assert runners.profiles["own"].command == ("/opt/claude",)
    assert runners.profiles["own"].agent == AgentSettings(kind="claude", args=("--effort", "low"))
    assert runners.profiles[""].agent is None


def test_the_default_runner_may_be_an_agent_program_whose_words_others_of_the_kind_take():
    table = {"kind": "claude", "args": ["--effort", "low"], "max_turns": 9, "fast": {"model": "haiku"}}
    runners, wrong = read(table | {"backup": {"kind": "command", "command": ["restic"]}}, "config.toml")
    assert wrong == []
    assert runners.profiles[""].command == ("claude",)
    assert runners.profiles["fast"].agent == AgentSettings(
        kind="claude", args=("--effort", "low"), model="haiku", max_turns=9
    )
    assert runners.profiles["backup"] == RunnerProfile("backup", ("restic",))


def test_a_kind_that_is_wrong_starts_nothing():
    runners, wrong = read({"kind": "claud", "command": ["claude"]}, "config.toml")
    assert [problem.key for problem in wrong] == ["runner.kind"]
    assert runners.profiles == {}
    assert "runner.kind" in runners.missing("")
