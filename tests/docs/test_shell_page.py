"""The page of scripts: its exit statuses are those that come, its JSON is as the schemas have it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests import fork_server
from tests.conftest import START
from tests.contract.client import DEADLINE, ROOT, environment, program
from tests.docs import command_schemas
from tests.started import Started, until
from tests.terminals import Terminal
from tui_tasks.cli.command_parser import parser
from tui_tasks.cli.command_table import COMMANDS
from tui_tasks.cli.main import main
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.store import Store
from tui_tasks.state import callers
from tui_tasks.work import starting
from tui_tasks.work.git import pull_requests

PAGE = (ROOT / "tui_tasks" / "docs" / "scripts.md").read_text()


def with_json(made: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[str]:
    """The commands, with their actions, that take `--json`."""
    if words and any("--json" in action.option_strings for action in made._actions):
        yield " ".join(words)
    for action in made._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, child in action.choices.items():
                yield from with_json(child, (*words, word))


def test_each_command_that_prints_json_has_a_schema() -> None:
    whole = parser(whole=True)
    assert sorted(with_json(whole)) == sorted(command_schemas.COMMANDS)
    for schema in command_schemas.COMMANDS.values():
        jsonschema.Draft202012Validator.check_schema(schema)


# Each line is one after the other on the same database; what it prints is held against its schema.
LINES = """
add 'One #a'
ls
show 4
next
next --list task
start 4
log 4 half
edit 4 !high
status 4 pending
link 4 branch:main
add Two
mv 5 --first
fail 5 why
skip 5
done 5
done 4 5
rm 5
undo
redo
ls '#a status:open'
lists
lists new other
lists rename other others
lists archive others
lists unarchive others
lists review others on
lists one-in-progress others on
lists rm others
asks
asks answer {ask} yes
jobs
jobs new Audit 'Read the log'
jobs show Audit
jobs edit Audit --prompt 'Read it'
jobs disable Audit
jobs enable Audit
jobs run Audit
jobs runs Audit
jobs stop Audit
jobs rm Audit
agents --all
agents message bob hello
agents stop bob enough
agents pause bob
agents resume bob
accept 1 --version 1
decline 2
join 3 1
release 4
check
check 4 --no-wait
digest
agents undo bob --since 2020-01-01
rules
rules test 'git status'
rules remove 1
work start 4 --program robot
work
work ls
work show 4
work attach 4
work review 4
work pr 4 --to https://github.com/ada/api.git
work discard 4
work restore 4
work merge 4 --reviewed VERSION
work restore 4
work comment 4 more
work clean
lists auto work on --at-once 2
lists auto work off
"""


def test_what_each_prints_is_as_its_schema_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'[check.tests]\ncommand = ["true"]\ncwd = "{tmp_path}"\nlists = ["work"]\n')
    with settings.open("a") as file:
        file.write('[work]\nterminal = "none"\n[work.program.robot]\ncommand = ["true", "{prompt}"]\n')
        file.write('[[rule]]\nanswer = "allow"\ntool = "Bash"\npattern = "git status"\n')
    for git in (("init", "-q"), ("-c", "user.name=me", "-c", "user.email=me@x", "commit", "-qm", "x", "--allow-empty")):
        subprocess.run(["git", *git], cwd=tmp_path, check=True)
    identity = ("-c", "user.name=me", "-c", "user.email=me@x")
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:ada/api.git"], cwd=tmp_path, check=True)
    for words in (("config", "user.name", "me"), ("config", "user.email", "me@x")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)

    def work(argv: list[str], log: Path, cwd: str, environ: dict[str, str]) -> None:
        subprocess.run(["git", *identity, "commit", "-qm", "x", "--allow-empty"], cwd=cwd, check=True)

    monkeypatch.setattr(starting, "_start_headless", work)
    monkeypatch.setattr(pull_requests, "create", lambda *_, **__: "https://github.com/ada/api/pull/7")
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(settings))
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "tasks.db"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(callers, "has_terminal", lambda: True)
    with Store(str(tmp_path / "tasks.db")) as store:
        store.review = lambda: ReviewPolicy(("held",))
        (ask,) = store.commit(OpenAsk("Which?"), actor="bob", now=START)
        home, _ = store.commit(EnsureList("held", "task"), EnsureList("work", "task"), actor="bob", now=START)
        store.commit(*(AddTask(name, home.uid) for name in "abc"), actor="bob", now=START)
        assert task_queries.task(store.db, next(iter(task_queries.tasks(store.db, home.id))).uid).held
    seen = set()
    version = ""
    for line in LINES.format(ask=ask.uid).strip().splitlines():
        words = shlex.split(line.replace("VERSION", version))
        name = next(" ".join(words[:count]) for count in (2, 1) if " ".join(words[:count]) in command_schemas.COMMANDS)
        assert main(["--list", "work", *words, "--json"]) == 0, (line, capsys.readouterr())
        schema = {**command_schemas.COMMANDS[name], "$defs": command_schemas.DEFINITIONS}
        # The schemas themselves are checked above: to do so at each line takes longer than all commands together.
        validator = jsonschema.Draft202012Validator(schema)
        printed = json.loads(capsys.readouterr().out)
        validator.validate(printed)
        version = printed["review"]["version"] if name == "work review" else version
        assert not validator.is_valid({"schema_version": 1, "other": 1})
        seen.add(name)
    assert seen == set(command_schemas.COMMANDS)


# Exit statuses


def statuses() -> list[str]:
    table = PAGE.partition("| status | when |")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([^|-]+?) \|", table, re.MULTILINE)


def test_the_page_and_the_help_tell_the_statuses_that_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert statuses() == ["0", "1", "2", "130", "128 + N"]
    env = environment(tmp_path, TUI_TASKS_DB=str(tmp_path / "tasks.db"))

    def ends(*words: str) -> int:
        return fork_server.run(program(*words), env=env, capture_output=True, timeout=DEADLINE, check=False).returncode

    assert [ends("add", "one"), ends("done", "2"), ends("done", "--bogus")] == [0, 1, 2]
    assert parser().format_help().rstrip().endswith("130 interrupted.")
    for words, number, status in ((("watch", "--plain"), signal.SIGINT, 130), (("scheduler",), signal.SIGTERM, 0)):
        with Started(program(*words), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
            _wait_until_it_stands(process, words)
            process.send_signal(number)
            assert process.wait(DEADLINE) == status
    terminal = Terminal(program("--no-scheduler"), piped=False, environment=env)
    try:
        terminal.wait_for(lambda: terminal.shows("one"))
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.ends() == 128 + signal.SIGTERM
    finally:
        terminal.close()


def _wait_until_it_stands(process: subprocess.Popen[bytes], words: tuple[str, ...]) -> None:
    if words[0] == "watch":
        assert process.stdout is not None
        assert process.stdout.read(1)
        return
    caught = 1 << (signal.SIGTERM - 1)
    path = Path(f"/proc/{process.pid}/status")
    until(lambda: int(re.findall(r"^SigCgt:\s*(\w+)", path.read_text(), re.MULTILINE)[0], 16) & caught)


def test_each_command_that_the_page_names_is_there() -> None:
    lines = re.findall(r"^    tui-tasks (.+)$", PAGE, re.MULTILINE)
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert words[0] in COMMANDS, line
        parser(words[0]).parse_args(words)
