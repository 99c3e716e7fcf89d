"""The human's settings."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tui_tasks import hooks
from tui_tasks.cli.admin import program_files
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.rules.agents.standing_answers import AnswerRule
from tui_tasks.settings import config, work_settings


def test_a_missing_file_is_as_good_as_an_empty_one(tmp_path: Path) -> None:
    assert config.load(tmp_path / "config.toml") == (config.Config(), [])


def test_what_is_right_holds_beside_what_is_wrong_and_each_fault_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('ascii = true\nquiet_after = "soon"\nbogus = 1\n\n[keys]\ntask-new = "x"\n')
    settings, problems = config.load(file)
    assert settings.ascii
    assert settings.keys == {"task-new": "x"}
    assert settings.quiet_after == config.Config().quiet_after
    assert [(problem.line, problem.message.split(":")[0]) for problem in problems] == [
        (2, "quiet_after"),
        (3, "no setting bogus; `tui-tasks config` lists them"),
    ]


@pytest.mark.parametrize(
    ("wrong", "line"),
    [('colour = "x"', 11), ("command = 3", 11), ('terminal = "window"', 2), ("[work.limits]\nx = 1", 12)],
)
def test_a_fault_in_a_table_of_a_table_has_the_line_of_its_key(tmp_path: Path, wrong: str, line: int) -> None:
    file = tmp_path / "config.toml"
    fields = [wrong if line == 2 else "", "", "", "[work.program]", 'default = "b"', "", "[work.program.b]"]
    tables = ['command = ["b"]', "[work.program.asker]", "" if line == 2 else wrong]
    file.write_text("\n".join(["[work]", *fields, *tables]))
    (problem,) = config.load(file)[1]
    assert problem.line == line


def test_a_file_that_is_no_toml_is_told_with_its_line_and_everything_is_at_its_default(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("ascii = true\nbell = = 1\n")
    settings, (problem,) = config.load(file)
    assert settings == config.Config()
    assert problem.line == 2
    assert str(problem).startswith(f"{file}:2: ")


def test_a_program_beside_tables_of_programs_is_told_with_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[work]\nprogram = "mybot"\n[work.program.mybot]\ncommand = ["mybot"]\n')
    _, (problem,) = config.load(file)
    assert "write `default = ...` in [work.program]" in str(problem)
    file.write_text('[work.program]\ndefault = "mybot"\n[work.program.mybot]\ncommand = ["mybot", "{prompt}"]\n')
    assert config.load(file)[1] == []


def test_a_file_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"theme = '\xff'\n")
    settings, problems = config.load(file)
    assert settings == config.Config()
    assert "cannot be read" in problems[0].message


def test_every_setting_is_described_with_its_meaning_and_default(tmp_path: Path) -> None:
    told = config.describe(tmp_path / "config.toml", config.Config(ascii=True))
    assert "ascii = true" in told
    for field in msgspec.structs.fields(config.Config):
        meaning = told.split(f"\n{field.name} = ")[0].splitlines()[-1]
        assert meaning.startswith("# ")
        assert "Default: " in meaning
        assert len(meaning) > len("# Default: ") + 10


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, 'theme = "nord"\n'),
        ("# mine\n[keys]\nquit = 'x'\n", "theme = \"nord\"\n# mine\n[keys]\nquit = 'x'\n"),
        ("ascii = true\n  theme='dark' # for now\n", 'ascii = true\n  theme= "nord" # for now\n'),
        ('[views]\ntheme = "x"\n', 'theme = "nord"\n[views]\ntheme = "x"\n'),
        ('ascii = true\r\ntheme = "dark"\r\n', 'ascii = true\r\ntheme = "nord"\r\n'),
    ],
)
def test_a_theme_is_kept_and_nothing_else_is_touched(tmp_path: Path, before: str | None, after: str) -> None:
    file = tmp_path / "config" / "config.toml"
    if before is not None:
        file.parent.mkdir()
        file.write_bytes(before.encode())
        file.chmod(0o640)
    config.keep_theme(file, "nord")
    assert file.read_bytes() == after.encode()
    assert before is None or file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in file.parent.iterdir()] == ["config.toml"]
    assert config.load(file)[0].theme == "nord"


def test_a_theme_is_kept_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").write_text("")
    link = tmp_path / "config.toml"
    link.symlink_to("dotfiles")
    config.keep_theme(link, "nord")
    assert link.is_symlink()
    assert (tmp_path / "dotfiles").read_text() == 'theme = "nord"\n'


@pytest.mark.parametrize("text", ["theme = \n", 'theme = """dark"""\n', "x = 1\nx = 2\n", "\udcff"])
def test_a_file_that_cannot_be_understood_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"\S"):
        config.keep_theme(file, "nord")
    assert file.read_bytes() == text.encode(errors="surrogateescape")


def test_a_table_of_work_that_cannot_be_understood_is_told_and_not_used(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[work]\nmax_agents = 9\n[work.program.mine]\ncommand = ["mine"]\n')
    found, problems = config.load(file)
    assert [str(problem) for problem in problems] == [f"{file}:1: work: program.mine: the command has no {{prompt}}"]
    assert found.work == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('work = { progam = "x" }', "work: no setting progam; use one of program, worktree, branch, base, "),
        ("work = { limits = { token = 3 } }", "work.limits: no setting token; use one of tokens, cost_usd, minutes, "),
        ('work = { program = { x = { run = ["a"] } } }', "work.program.x: no setting run; use one of command"),
        (
            'work = { program = { command = ["a"] } }',
            "work: [work.program] has no command: it takes `default`, and tables `[work.program.NAME]`",
        ),
        ("review = { list = 1 }", "review: no setting list; use one of lists, "),
        ("[[rule]]\nnot = 1", "rule 1: no setting not; use one of answer, "),
    ],
)
def test_a_setting_that_a_table_does_not_have_is_told_with_those_that_it_has(tmp_path: Path, text: str, why: str):
    file = tmp_path / "config.toml"
    file.write_text(f"{text}\n")
    (problem,) = config.load(file)[1]
    assert problem.message.startswith(why)


RULE = AnswerRule("allow", "Bash", 'git commit -m "a"', "claude")


_OTHER = '[[rule]]\nanswer = "deny"\ntool = "X"\n'


@pytest.mark.parametrize("text", ["", 'theme = "dark" # mine\n', 'theme = "dark"', _OTHER])
def test_a_rule_is_added_at_the_end_and_can_be_removed_again(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_text(text)
    path.chmod(0o600)
    config.add(path, RULE)
    assert path.read_text().startswith(text)
    rules = config.load(path)[0].rule
    assert rules[-1] == RULE
    assert config.remove(path, len(rules), rules) == RULE
    assert path.read_text().strip() == text.strip()


@pytest.mark.parametrize("text", ['rule = [{ answer = "deny", tool = "X" }]\n', "theme = \n"])
def test_a_file_that_cannot_take_it_is_left_as_it_is(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Conflict):
        config.add(path, RULE)
    assert path.read_text() == text


def test_a_number_that_no_rule_has_removes_nothing(tmp_path: Path):
    with pytest.raises(NotFound):
        config.remove(tmp_path / "config.toml", 2, (RULE,))


def test_hooks_know_the_programs_that_the_settings_name() -> None:
    assert hooks.PROGRAM_NAMES == work_settings.PROGRAM_NAMES
    assert set(config.DEFAULT_WAITS) == {*hooks.PROGRAM_NAMES}
    assert {*hooks.PROGRAM_NAMES} < {*program_files.PROGRAMS}


@pytest.mark.parametrize("value", ["inf", "nan", "1e400", "0"])
def test_a_limit_of_money_without_an_end_is_refused_in_the_settings(tmp_path: Path, value: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"work = {{ limits = {{ cost_usd = {value} }} }}\n")
    given, (problem,) = config.load(file)
    assert problem.message.startswith("work.limits.cost_usd: takes a number above 0, up to 1,000,000, not ")
    assert not given.work


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("work = 3", "work: takes a table, not 3"),
        ('work = { program = "claude", programs = "x" }', 'work.program: takes a table, not "x"'),
        ("work = { max_agents = 5000 }", "work.max_agents: takes a whole number from 1 up to 1,000, not 5000"),
        (
            "work = { program = { x = { command = [] } } }",
            "work.program.x.command: takes a list that is not empty, not []",
        ),
        ('notify = "loud"', 'notify: takes one of "off", "osc777", "osc9", not "loud"'),
        (
            "sessions = { wait = { x = 1 } }",
            'sessions.wait: takes one of "claude", "codex", "gemini", "opencode", not "x"',
        ),
        ('ntfy = { topic = "a b" }', 'ntfy.topic: takes up to 64 letters, digits, - and _, not "a b"'),
        ("rule = [{ answer = 'allow' }]", "rule 1: lacks tool"),
        ("keys = { quit = 5 }", "keys.quit: takes a text, not 5"),
        ("[keys]\nhelp = 'h'\nquit = 5", "keys.quit: takes a text, not 5"),
        (
            '[work.program.x]\ncommand = ["a", "b\\u0000"]',
            'work.program.x.command 2: takes a text without NUL, not "b\\u0000"',
        ),
        ("[work.program]\ndefault = 5", "work.program.default: takes a text, not 5"),
        ('[rule]\ntool = "X"', "rule: write [[rule]], not [rule]"),
        (f"{_OTHER}[[rule]]\nanswer = 'deny'\ntool = 3", "rule 2.tool: takes a text, not 3"),
        ("notify_command = ['a', 3]", "notify_command 2: takes a text, not 3"),
        (
            "work = { limits = { cost_usd = inf } }",
            "work.limits.cost_usd: takes a number above 0, up to 1,000,000, not inf",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_its_setting_the_value_and_what_is_allowed(tmp_path, text, message) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"{text}\n")
    assert [problem.message for problem in config.load(file)[1]] == [message]


def test_a_mistake_in_a_rule_is_shown_at_the_line_of_that_rule(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"{_OTHER}[[rule]]\nanswer = 'deny'\n{_OTHER}")
    assert [str(problem) for problem in config.load(file)[1]] == [f"{file}:4: rule 2: lacks tool"]
    file.write_text(f"{_OTHER}[[rule]]\nanswer = 'deny'\ntool = 3\n")
    assert [problem.line for problem in config.load(file)[1]] == [6]
