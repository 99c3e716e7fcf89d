"""`[runner]` and `[runner.NAME]` of the configuration file."""

import pytest

from tui_tasks.runner.profiles import RunnerProfile, read


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
    ],
)
def test_what_is_wrong_is_told_with_its_key(table, key):
    _, wrong = read(table, "config.toml")
    assert [problem.key for problem in wrong] == [key]


def test_a_word_of_a_command_may_be_empty_but_its_program():
    command = ["claude", "-p", "--tools", ""]
    runners, wrong = read({"command": command, "bad": {"command": ["", "a"]}}, "config.toml")
    assert runners.profiles[""].command == tuple(command)
    assert str(wrong[0]) == "runner.bad.command: Expected the name of a program as the first word"


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
