"""The command line, as processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tui_tasks
from tests import fork_server
from tests.contract.client import terminal_input
from tests.started import DEADLINE, Started
from tui_tasks.core.engine.driver import connect
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.text import safe


@pytest.fixture
def run(tmp_path: Path):
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    environment.pop("TUI_TASKS_DB", None)
    environment.pop("TUI_TASKS_CONFIG", None)

    def run(*arguments: str, stdin: int = subprocess.DEVNULL, **more: str) -> subprocess.CompletedProcess[str]:
        return fork_server.run(
            [sys.executable, "-m", "tui_tasks", *arguments],
            env=environment | more,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            stdin=stdin,
            start_new_session=True,
        )

    return run


def test_a_call_takes_words_and_prints_the_result_as_json(run) -> None:
    made = run("call", "tasklist:add_task", "name=one", "description=2")
    assert made.returncode == 1
    problem = {"argument": "description", "message": "description: expected string, got integer"}
    assert json.loads(made.stderr)["data"] == {"argument": "description", "problems": [problem]}
    made = run("call", "tasklist:add_task", "name=one", 'description="2"')
    assert made.returncode == 0
    assert json.loads(made.stdout)["description"] == "2"
    shown = run("call", "tasklist:display")
    assert json.loads(shown.stdout) == [json.loads(made.stdout)]


def test_a_call_takes_one_json_object(run) -> None:
    made = run("call", "tasklist:add_task", '{"name": "a=b", "description": "x"}')
    assert json.loads(made.stdout)["name"] == "a=b"


@pytest.mark.parametrize(
    "arguments",
    [
        ("call", "tasklist:add_task", "one"),
        ("call", "tasklist:add_task", "{"),
        ("bogus",),
        ("call", "--bogus"),
        ("show",),
    ],
)
def test_wrong_usage_ends_with_2_and_no_traceback(run, arguments) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr


HARMFUL = "no\ufe0f\u200b\x1b[2J\u202e"


@pytest.mark.parametrize(
    "arguments",
    [("--help", HARMFUL), ("control:task", HARMFUL), ("control:task", f"{HARMFUL}=1", f"{HARMFUL}=2")],
    ids=["no tool", "no value", "twice"],
)
def test_what_a_call_was_given_is_told_as_text_alone(run, arguments) -> None:
    done = run("call", *arguments)
    assert done.returncode in (1, 2)
    assert "no␛[2J\ufffd" in done.stderr


def test_a_refusal_ends_with_1_and_goes_to_standard_error(run) -> None:
    done = run("call", "tasklist:get_task", "uid=nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["code"] == "not_found"


def test_the_human_cannot_be_posed_as(run) -> None:
    for name in ("human", "Human", " human "):
        done = run("call", "tasklist:add_task", "name=x", "--agent", name)
        assert done.returncode == 2
        assert "reserved" in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ("name=\udcff",),
        ('{"name": "\udcff"}',),
        ("name=x", "--agent", "\udcff"),
        ("name=x", "--list", "\udcff"),
        ("name=x", "--agent", " "),
        ("name=x", "--list", ""),
        ("name=x", "--agent", "a" * 10_001),
    ],
    ids=repr,
)
def test_what_is_no_text_and_names_that_are_none_are_wrong_usage_and_nothing_is_made(run, tmp_path, wrong) -> None:
    for command in (("call", "tasklist:add_task"), ()) if wrong[0] == "name=x" else (("call", "tasklist:add_task"),):
        done = run(*command, *(wrong if command else wrong[1:]))
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_the_words_of_a_call_may_stand_on_both_sides_of_its_options(run) -> None:
    made = run("call", "tasklist:add_task", "--list", "mine", "name=one", "--agent", "robin", "description=two")
    assert made.returncode == 0
    assert json.loads(made.stdout)["description"] == "two"
    assert [task["name"] for task in json.loads(run("call", "tasklist:display", "--list", "mine").stdout)] == ["one"]
    unknown = run("call", "tasklist:add_task", "--list", "mine", "name=one", "--bogus")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "--bogus" in unknown.stderr


def test_the_database_is_where_the_option_else_the_variable_else_the_platform_says(run, tmp_path) -> None:
    run("add", "by default")
    assert (tmp_path / "data" / "tui-tasks" / "tasks.db").exists()
    run("add", "by variable", TUI_TASKS_DB=str(tmp_path / "variable.db"))
    assert (tmp_path / "variable.db").exists()
    run("add", "by option", "--db", str(tmp_path / "option.db"), TUI_TASKS_DB=str(tmp_path / "variable.db"))
    assert "by option" in run("ls", "--db", str(tmp_path / "option.db")).stdout
    run("add", "by url", "--db", f"sqlite:///{tmp_path}/url.db")
    assert (tmp_path / "url.db").exists()
    refused = run("ls", "--db", "mysql://somewhere/tasks")
    assert refused.returncode == 1
    assert "not supported" in refused.stderr


def test_the_options_hold_before_and_after_the_command(run, tmp_path) -> None:
    db = str(tmp_path / "x.db")
    run("--db", db, "--list", "Other", "add", "one", "--new")
    assert [task["list"] for task in json.loads(run("ls", "--json", "--db", db).stdout)] == ["Other"]


def test_the_short_verbs_do_what_they_say(run) -> None:
    uid = json.loads(run("add", "Write tests", "--description", "All of them", "--json").stdout)["uid"]
    assert json.loads(run("next", "--json").stdout)["uid"] == uid
    assert run("log", uid[:8], "begun").returncode == 0
    shown = json.loads(run("show", uid[:8], "--json").stdout)
    assert [entry["message"] for entry in shown["log"]] == ["begun"]
    assert "Write tests" in run("ls").stdout
    assert run("done", uid[:8]).returncode == 0
    assert run("ls", "--status", "pending").stdout == ""
    assert json.loads(run("ls", "--status", "done", "--json").stdout)[0]["uid"] == uid
    assert json.loads(run("next", "--json").stdout) is None


def test_a_beginning_that_several_tasks_share_is_refused(run) -> None:
    run("add", "one")
    run("add", "two")
    done = run("done", "")
    assert done.returncode == 1
    assert "several" in done.stderr


def test_what_an_agent_wrote_reaches_the_terminal_as_text_alone(run) -> None:
    evil = "\x1b]52;c;aGk=\x07\x1b[2J\u202e"
    uid = json.loads(run("add", f"x{evil}", "--description", f"y{evil}\n\x9b2J", "--json").stdout)["uid"]
    run("log", uid, f"z{evil}")
    for command in (("ls",), ("show", uid), ("next",), ("prime",), ("done", uid)):
        told = run(*command).stdout
        assert "x" in told
        assert not set(told) & set("\x1b\x07\x9b\u202e")


def test_json_escapes_what_terminals_disagree_on_and_is_the_same_value() -> None:
    unread = "\x7f\x9b\ue0b0\U000f0000\u0378\uffff\U0010ffff\ufe0f\U000e0100\u200b\U000e0041\u202e"
    told = safe.dumps({"a": f"x{unread}\n数\u0301👩"}, indent=1)
    assert not set(told) & set(unread)
    assert "数\u0301👩" in told
    assert json.loads(told) == {"a": f"x{unread}\n数\u0301👩"}


def test_a_uid_that_another_program_has_written_does_nothing_to_the_terminal(run, tmp_path) -> None:
    database = tmp_path / "t.db"
    run("add", "one", "--db", str(database))
    with contextlib.closing(connect(database)) as raw:
        raw.execute("UPDATE task SET uid = ?", ("\x1b]52;c;AA\x07\u202e",))
    for command in ("show", "1"), ("prime",), ("ls",):
        done = run(*command, "--db", str(database))
        assert not set(done.stdout + done.stderr) & set("\x1b\x07\u202e"), command


def test_prime_tells_the_rules_and_the_next_task_in_under_a_thousand_tokens(run) -> None:
    for number in range(30):
        run("add", f"Task {number} " + "word " * 50) if number < 15 else None
    told = run("prime").stdout
    assert "Next: " in told
    assert "Task 0" in told
    assert "and 3 more" in told
    # A token is about four characters of English.
    assert len(told) / 4 < 1000


def test_config_tells_each_key_and_theme_that_is_wrong_with_its_line(run, tmp_path) -> None:
    (tmp_path / "themes").mkdir()
    (tmp_path / "themes" / "mine.toml").write_text('[colors]\nprimary = "#zz"\n')
    file = tmp_path / "config.toml"
    file.write_text('theme = "mine"\n[keys]\nnope = "x"\nnew = "d"\nundoo = "U"\n')
    told = run("config", TUI_TASKS_CONFIG=str(file))
    assert told.returncode == 1
    assert f"{file}:3: no action 'nope'; `?` in the screen shows the id of each beside it" in told.stderr
    assert f"{file}:5: no action 'undoo'; did you mean 'undo'? `?` in the screen" in told.stderr
    assert f"{file}:4: d is the key of 'delete' too" in told.stderr
    assert f"{tmp_path}/themes/mine.toml:2: primary" in told.stderr


def test_no_setting_does_anything_to_the_terminal(run, tmp_path) -> None:
    (file := tmp_path / "c.toml").write_text(
        '"a\\u009b31m\\u202e" = 1\nnotify = "\\u009b"\ntheme = "\\u009b31m\\u202e"\n'
    )
    told = run("config", TUI_TASKS_CONFIG=str(file))
    assert told.returncode == 1 and "notify" in told.stderr and "theme = " in told.stdout
    assert not set("\x9b\u202e") & set(told.stdout + told.stderr)


def test_config_tells_its_place_and_every_setting(run, tmp_path) -> None:
    told = run("config")
    assert str(tmp_path / "config" / "tui-tasks" / "config.toml") in told.stdout
    assert "quiet_after" in told.stdout
    file = tmp_path / "other.toml"
    file.write_text("bogus = 1\n")
    told = run("config", TUI_TASKS_CONFIG=str(file))
    assert told.returncode == 1
    assert f"{file}:1: " in told.stderr


def test_without_a_terminal_the_screen_says_what_to_do_instead(run) -> None:
    run("add", "one")
    done = run("watch")
    assert done.returncode == 1
    assert "serve" in done.stderr
    assert "Traceback" not in done.stderr


def test_read_only_writes_nothing_and_says_so(run, tmp_path) -> None:
    db = str(tmp_path / "x.db")
    missing = run("ls", "--read-only", "--db", db)
    assert missing.returncode == 1
    assert not Path(db).exists()
    run("add", "one", "--db", db)
    refused = run("add", "two", "--db", db, "--read-only")
    assert refused.returncode == 1
    assert refused.stderr == "tui-tasks: --read-only: nothing was changed\n"
    assert json.loads(run("call", "control:hello", "--db", db, "--read-only").stdout)["read_only"]


HEADLESS = """
import sys
from tui_tasks.cli.main import main
main(sys.argv[1:])
needless = {"textual", "rich", "mcp", "pydantic", "croniter"}
found = {name.partition(".")[0] for name in sys.modules} & needless
assert not found, found
"""


@pytest.mark.parametrize(
    "command",
    [("serve",), ("call", "tasklist:display"), ("add", "x"), ("ls",), ("next",), ("prime",), ("done", "1"), ("undo",)],
)
def test_a_process_without_a_screen_imports_neither_textual_nor_rich_nor_what_it_does_not_need(
    run, command, tmp_path
) -> None:
    run("add", "one", "--db", str(tmp_path / "x.db"))
    done = subprocess.run(
        [sys.executable, "-c", HEADLESS, *command, "--db", str(tmp_path / "x.db")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr


SHORT = """
import sys
from tui_tasks.cli.main import main
main(sys.argv[1:])
needless = {"dataclasses", "zoneinfo", "tomllib", "ctypes", "difflib", "subprocess", "asyncio", "heapq", "shlex"}
needless |= {"argparse", "typing_extensions", "pathlib", "tempfile", "shutil", "platformdirs", "urllib.parse"}
# What Peewee imports and hardly uses.
needless |= {"inspect", "ast", "dis", "calendar", "locale", "socket", "selectors"}
# The tables of Unicode, which the look of agents' names needs.
needless |= set() if "tui_tasks.core.agent_names" in sys.modules else {"unicodedata"}
others = ("core.schedule.cron", "runner.scheduler_service", "runner.processes", "dialects.plans")
# Of questions, messages, jobs, runs and standing answers, which this database has none of.
others += ("core.read.ask_queries", "core.read.message_queries", "core.schema.agent_tables", "core.schema.job_tables")
others += ("core.operations.jobs", "core.rules.agents.standing_answers", "core.unjournaled.heartbeats")
others += ("core.read.pages.list_pages",)
needless |= {f"tui_tasks.{name}" for name in others}
found = set(sys.modules) & needless
assert not found, found
ours = sorted(name for name in sys.modules if name.startswith("tui_tasks"))
# Drivers of other databases, which Peewee imports where they are installed.
assert not {"psycopg", "psycopg2", "pymysql", "MySQLdb"} & set(sys.modules)
# Each takes 0.1 ms or more: what a command does not use is imported where it is used.
assert len(ours) <= int(sys.stdin.read()), (len(ours), ours)
"""


@pytest.mark.parametrize(
    ("command", "most_modules"),
    [
        (("add", "x"), 79),
        (("ls",), 81),
        (("next",), 83),
        (("done", "1"), 82),
        (("call", "tasklist:display"), 72),
        (("call", "tasklist:add_task", "name=x"), 78),
    ],
)
def test_a_command_that_is_soon_over_imports_no_more_than_it_needs(run, command, most_modules, tmp_path) -> None:
    run("add", "one", "--db", str(tmp_path / "x.db"))
    done = subprocess.run(
        [sys.executable, "-c", SHORT, *command],
        env={**os.environ, "TUI_TASKS_DB": str(tmp_path / "x.db")},
        input=str(most_modules),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_version_is_printed_before_the_parser_of_the_command_line_is_imported(run) -> None:
    script = (
        "import sys; from tui_tasks.cli.main import main; main(sys.argv[1:]); "
        "print(*{'argparse', 'peewee', 'msgspec', 'tui_tasks.cli.command_parser'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, "--version"], capture_output=True, text=True, timeout=DEADLINE)
    assert (done.stdout.split()[0], done.stderr) == ("tui-tasks", "\n")


def test_ls_json_waits_for_the_import_of_neither_peewee_nor_the_tools(run, tmp_path) -> None:
    run("add", "one", "--db", str(tmp_path / "x.db"))
    script = (
        "import sys; from tui_tasks.cli.main import main; main(sys.argv[1:]); "
        "print(*{'peewee', 'msgspec', 'tui_tasks.channel.session'} & set(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, "ls", "--json", "--db", str(tmp_path / "x.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    assert (json.loads(done.stdout)[0]["name"], done.stderr) == ("one", "\n")


def test_every_tool_is_found_by_its_name_alone() -> None:
    for name, tool in TABLE.tools.items():
        assert TABLE.find(name) is tool
    assert TABLE.find("control:nothing") is None
    assert TABLE.find("") is None


def test_a_job_that_a_call_runs_is_started_though_nobody_hosts_a_scheduler(run, tmp_path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('[runner]\ncommand = ["cat"]\n')
    job = '{"name": "x", "system_prompt": "", "prompt": "hello", "dedicated_context": true}'
    made = json.loads(run("call", "scheduler:create_adhoc_task", job, TUI_TASKS_CONFIG=str(settings)).stdout)
    run("call", "scheduler:run_task", f"uuid={made['uuid']}", TUI_TASKS_CONFIG=str(settings))
    ended = run("call", "scheduler:wait_for_task", f"uuid={made['uuid']}", f"timeout={DEADLINE}")
    assert json.loads(ended.stdout)["result"] == "hello"


def test_the_help_of_call_is_the_tool_tables(run) -> None:
    listed = run("call").stdout
    for tool in TABLE.tools.values():
        assert (f"\n{tool.name} " in f"\n{listed}") is not tool.human
    told = run("call", "tasklist:update_task", "--help").stdout
    assert TABLE.tools["tasklist:update_task"].description in told
    assert "optional, one of done, failed, in_progress, pending, skipped\n" in told
    assert "ARGUMENTS" in run("call", "--help").stdout
    unknown = run("call", "bogus", "--help")
    assert (unknown.returncode, unknown.stdout) == (1, "")


def test_the_version_is_the_packages(run) -> None:
    assert run("--version").stdout.strip() == f"tui-tasks {tui_tasks.__version__}"


def test_the_scheduler_alone_runs_what_is_due_and_ends_when_it_is_told_to(tmp_path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('[runner]\ncommand = ["cat"]\n')
    base = [sys.executable, "-m", "tui_tasks", "--db", str(tmp_path / "x.db")]
    environment = os.environ | {"TUI_TASKS_CONFIG": str(settings)}

    def call(tool: str, **arguments: object) -> dict:
        command = [*base, "--no-scheduler", "call", tool, json.dumps(arguments)]
        done = fork_server.run(command, env=environment, capture_output=True, check=True, timeout=DEADLINE)
        return json.loads(done.stdout)

    with Started([*base, "scheduler"], env=environment) as scheduler:
        made = call("scheduler:create_adhoc_task", name="x", system_prompt="", prompt="hello", dedicated_context=True)
        call("scheduler:run_task", uuid=made["uuid"])
        ended = call("scheduler:wait_for_task", uuid=made["uuid"], timeout=DEADLINE)
        scheduler.terminate()
        assert scheduler.wait(DEADLINE) == 0
    assert (ended["outcome"], ended["result"]) == ("success", "hello")


def test_compact_drops_old_entries_when_the_human_agrees_and_refuses_what_it_does_not_understand(run) -> None:
    for name in ("one", "two"):
        assert run("add", name).returncode == 0
    refused = run("compact", "--before", "0d", "--yes")
    assert (refused.returncode, "standard input is not a terminal" in refused.stderr) == (1, True)
    with terminal_input() as terminal:
        for said, why in (
            ("yesterday-ish", "neither an age"),
            ("2999-01-01", "in the future"),
            ("99d", "nothing was dropped"),
        ):
            refused = run("compact", "--before", said, "--yes", stdin=terminal)
            assert refused.returncode == 1
            assert why in refused.stderr
        refused = run("compact", "--before", "0d", "--yes", stdin=terminal, TUI_TASKS_RUN_TOKEN="x")
        assert refused.returncode == 1
        done = run("compact", "--before", "0d", "--yes", stdin=terminal)
    assert (done.returncode, done.stdout) == (0, "dropped 4 entries; the journal begins at 5\n")
    assert [line.split("  ")[1] for line in run("ls").stdout.splitlines()]
    assert "no problems" in run("doctor").stdout
    told = json.loads(run("call", "control:history").stdout)["entries"]
    assert [(entry["event"], entry["actor"]) for entry in told] == [
        ("terminal.used", "human"),
        ("journal.compacted", "human"),
    ]
    expired = run("call", "control:history", "since=1")
    assert json.loads(expired.stderr)["code"] == "cursor_expired"


def test_the_folder_of_somebody_unknown_is_refused_plainly(run) -> None:
    for done in (run("ls", "--db", "~nobody-here/t.db"), run("config", TUI_TASKS_CONFIG="~nobody-here/c.toml")):
        assert done.returncode != 0
        assert "no user of that name has a folder here" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_fresh_install_has_no_tasks_yet_and_says_how_to_make_the_first(run, tmp_path) -> None:
    said = "no tasks yet: tui-tasks add 'TITLE' makes the first\n"
    for words, out, status in (
        (("ls",), "", 0),
        (("ls", "--json"), "[]\n", 0),
        (("lists",), "", 0),
        (("next",), "", 1),
    ):
        done = run(*words)
        assert (done.returncode, done.stdout, done.stderr) == (status, out, said), words
    assert json.loads(run("lists", "--json").stdout)["lists"] == []
    for named in (run("ls", "--db", str(tmp_path / "x.db")), run("ls", TUI_TASKS_DB=str(tmp_path / "x.db"))):
        assert (named.returncode, "no database at" in named.stderr) == (1, True)


def test_an_export_that_cannot_be_written_names_the_file(run) -> None:
    run("add", "one")
    done = run("export", "jsonl", "-o", "/dev/full")
    assert (done.returncode, "/dev/full" in done.stderr) == (1, True)


def test_an_export_to_todo_txt_names_the_time_of_day_that_it_leaves_out(run) -> None:
    run("add", "one")
    assert "did not fit: created_at: its time of day (1 time)" in run("export", "todo.txt").stderr


def test_a_task_that_an_import_leaves_alone_did_fit(run, tmp_path) -> None:
    run("add", "one")
    file = str(tmp_path / "x.jsonl")
    assert run("export", "jsonl", "-o", file).returncode == 0
    assert run("call", "control:claim").returncode == 0
    said = run("import", "jsonl", file).stderr
    assert said == "left alone: an agent has claimed the task (1 time)\n"


def test_an_unknown_option_is_not_blamed_on_a_command_behind_it(run) -> None:
    done = run("--pane", "log")
    assert (done.returncode, done.stderr) == (2, "tui-tasks: no option --pane; `tui-tasks --help` lists them\n")
