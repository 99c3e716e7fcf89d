"""`setup`: what it writes is read as the agent programs read it, and nothing else of their files changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.started import DEADLINE, Started
from tui_tasks.cli.admin import program_findings
from tui_tasks.cli.admin.program_files import PROGRAMS
from tui_tasks.cli.main import main

HOOKED = [name for name, program in PROGRAMS.items() if program.next_hooks]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("TUI_TASKS_DB", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "TUI_TASKS_PROJECT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture(autouse=True)
def output(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    return capsys


def run(*arguments: str) -> int:
    return main(["setup", *arguments])


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def entry(folder: Path, program: str) -> dict[str, Any]:
    file = folder / PROGRAMS[program].project.server
    held = tomllib.loads(file.read_text()) if file.suffix == ".toml" else json.loads(file.read_text())
    found: dict[str, Any] = held[PROGRAMS[program].servers]["tui-tasks"]
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_entry_names_the_agent_the_database_and_one_dialect(folder: Path, program: str) -> None:
    assert run(program, "--db", "own.db", "--list", "sprint") == 0
    words = ["tui-tasks", "mcp", "--agent-only", program, "--db", str(folder / "own.db"), "--list", "sprint"]
    assert PROGRAMS[program].words(entry(folder, program)) == [*words, "--tools", "tasklist,ask,claim"]


def test_the_entry_starts_a_server(folder: Path) -> None:
    assert run("codex", "--db", "own.db", "--list", "sprint") == 0
    words = PROGRAMS["codex"].words(entry(folder, "codex"))
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call["params"] = {"name": "tasklist_add_task", "arguments": {"name": "from there"}}
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start}, call]
    with Started(words, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for line in lines:
            server.stdin.write(json.dumps(line).encode() + b"\n")
            server.stdin.flush()
            reply = json.loads(server.stdout.readline())
        server.stdin.close()
    assert reply["result"]["isError"] is False
    ls = [sys.executable, "-m", "tui_tasks", "call", "control:history", "--db", str(folder / "own.db")]
    (added,) = json.loads(subprocess.run(ls, capture_output=True, text=True, timeout=DEADLINE).stdout)["entries"][-1:]
    assert (added["actor"], added["task"]["name"], added["task"]["list"]) == ("codex", "from there", "sprint")


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_of_it_is_written_once_and_taken_out_again(folder: Path, program: str) -> None:
    (folder / "AGENTS.md").write_text("# Ours\n\nBe kind.")
    before = all_files(folder.parent)
    hooks = ["--hooks"] if program in HOOKED else []
    for scope in ([], ["--user"]):
        assert run(program, *scope, *hooks, "--check") == 1
        assert run(program, *scope, *hooks) == 0
        written = all_files(folder.parent)
        assert written != before
        assert run(program, *scope, *hooks, "--check") == 0
        assert run(program, *scope, *hooks) == 0
        assert all_files(folder.parent) == written
        assert run(program, *scope, "--remove") == 0
        assert all_files(folder.parent) == before
        assert run(program, *scope, "--remove") == 0


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_file_of_a_project_names_a_place_of_this_machine(folder: Path, program: str) -> None:
    assert run(program, *(["--hooks"] if program in HOOKED else [])) == 0
    for name, content in all_files(folder).items():
        for place in (sys.prefix, sys.base_prefix, str(folder.parent)):
            assert place.encode() not in content, name


@pytest.mark.parametrize("program", PROGRAMS)
def test_for_a_person_the_entry_names_this_installation(folder: Path, program: str) -> None:
    assert run(program, "--user") == 0
    assert all_files(folder) == {}
    assert any(sys.prefix.encode() in content for content in all_files(folder.parent).values())


@pytest.mark.parametrize("program", HOOKED)
def test_hooks_keep_the_database_that_they_name(folder: Path, program: str) -> None:
    assert run(program, "--hooks-only", "--db", "own.db", "--project", "shop") == 0
    written = all_files(folder)
    assert str(folder / "own.db").encode() in written[PROGRAMS[program].project.hooks]
    assert run(program, "--hooks-only") == 0
    assert all_files(folder) == written
    assert run(program, "--hooks-only", "--db", "another.db") == 0
    assert b"own.db" not in (folder / PROGRAMS[program].project.hooks).read_bytes()


@pytest.mark.parametrize("program", HOOKED)
def test_hooks_stand_beside_those_that_are_there(folder: Path, program: str) -> None:
    file = folder / PROGRAMS[program].project.hooks
    if file.suffix == ".js":
        assert run(program, "--hooks-only") == 0
        assert '["tui-tasks", "hook", "opencode"]' in file.read_text()
        assert list(all_files(folder)) == [PROGRAMS[program].project.hooks]
        return
    file.parent.mkdir()
    mine = '{ // mine\n  "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}], "Stop": []},\n}'
    file.write_text(mine)
    assert run(program, "--hooks-only") == 0
    assert "// mine" in file.read_text()
    old = (
        file.read_text()
        .replace("tui-tasks hook", "/old/python -m tui_tasks hook")
        .replace('"timeout": 1', '"timeout": 7')
    )
    written = file.read_text()
    file.write_text(old)
    assert run(program, "--hooks-only", "--check") == 1
    assert run(program, "--hooks-only") == 0
    assert file.read_text() == written
    assert run(program, "--hooks-only", "--remove") == 0
    assert file.read_text() == mine


def test_a_group_that_holds_another_hook_keeps_it(folder: Path) -> None:
    file = folder / ".claude/settings.json"
    file.parent.mkdir()
    both = [{"type": "command", "command": "x"}, {"type": "command", "command": "tui-tasks hook claude"}]
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": both}]}}))
    assert run("claude", "--remove") == 0
    assert json.loads(file.read_text()) == {"hooks": {"Stop": [{"hooks": both[:1]}]}}


def test_an_entry_keeps_what_was_added_to_it(folder: Path) -> None:
    file = folder / ".mcp.json"
    file.write_text(
        '{"mcpServers": {"tui-tasks": {\n  // why\n  "command": "/venv/bin/python", "disabled": true,\n'
        '  "args": ["-m", "tui_tasks", "mcp", "--agent", "robin", "--db", "/tmp/x.db",\n'
        '  "--read-only", "--structured"],\n'
        '  "env": {"A": "1"}, // theirs\n}, "mine": {"command": "x"}}}'
    )
    assert run("claude", "--list", "sprint") == 0
    text = file.read_text()
    assert "// why" in text
    assert "// theirs" in text
    assert '"disabled": true' in text
    assert '"env": {"A": "1"}' in text
    assert '"command": "tui-tasks"' in text
    for words in ('"--db",\n', '"/tmp/x.db"', '"--read-only"', '"--structured"', '"robin"', '"sprint"'):
        assert words in text
    assert "--agent-only" not in text
    assert run("claude", "--agent-only", "kim") == 0
    assert '"robin"' not in file.read_text()


def test_an_entry_that_runs_something_of_the_persons_own_is_left_alone(
    folder: Path, output: pytest.CaptureFixture[str]
) -> None:
    text = '{"mcpServers": {"tui-tasks": {"command": "ssh", "args": ["host", "tui-tasks", "mcp"]}}}'
    (folder / ".mcp.json").write_text(text)
    assert run("claude") == 0
    assert "your own" in output.readouterr().out
    assert run("claude", "--remove") == 0
    assert (folder / ".mcp.json").read_text() == text


def test_the_entry_keeps_the_bounds_that_were_asked_for(folder: Path) -> None:
    assert main(["--read-only", "--no-scheduler", "setup", "gemini"]) == 0
    assert entry(folder, "gemini")["args"][-2:] == ["--read-only", "--no-scheduler"]
    assert run("claude") == 0
    assert entry(folder, "claude")["args"] == ["mcp", "--agent-only", "claude", "--tools", "tasklist,ask,claim"]
    (folder / ".mcp.json").chmod(0o640)
    options = ("--read-only", "--no-scheduler", "--list-only", "sprint", "--agent-only", "bob", "--tools", "todo,ask")
    assert run("claude", *options) == 0
    bounds = ["--agent-only", "bob", "--list-only", "sprint", "--tools", "todo,ask", "--read-only", "--no-scheduler"]
    assert entry(folder, "claude")["args"] == ["mcp", *bounds]
    assert (folder / ".mcp.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"mcpServers": []}', "\udcff", "[" * 100_000, '{"mcpServers": {"tui-tasks": 1}}']
)
def test_a_file_that_is_not_as_it_should_be_is_left_alone_and_told(
    folder: Path, content: str, output: pytest.CaptureFixture[str]
) -> None:
    file = folder / ".mcp.json"
    file.write_bytes(content.encode(errors="surrogateescape"))
    assert run("claude", "--hooks") == 1
    assert str(file) in output.readouterr().err
    assert all_files(folder) == {".mcp.json": content.encode(errors="surrogateescape")}


def test_nothing_is_written_where_one_of_the_files_cannot_be_edited(folder: Path) -> None:
    (folder / ".claude").mkdir()
    (folder / ".claude/settings.json").write_text('{"hooks": []}')
    before = all_files(folder)
    assert run("claude", "--hooks") == 1
    assert all_files(folder) == before


@pytest.mark.parametrize(
    ("program", "link", "target"),
    [
        ("claude", ".mcp.json", "../victim"),
        ("cursor", ".cursor", ".."),
        ("gemini", ".gemini/settings.json", "../../victim"),
        ("codex", "AGENTS.md", "../victim"),
        ("claude", ".mcp.json", ".git/config"),
    ],
)
def test_nothing_is_written_through_a_link_that_leads_out_of_the_project(
    folder: Path, program: str, link: str, target: str, output: pytest.CaptureFixture[str]
) -> None:
    victim = folder.parent / "victim"
    victim.write_text('{"secret": 1}')
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("{}")
    (folder / link).parent.mkdir(exist_ok=True)
    (folder / link).symlink_to(target)
    before = sorted(folder.parent.rglob("*"))
    assert run(program) == 1
    assert f"{folder / link} is a link" in output.readouterr().err
    assert victim.read_text() == '{"secret": 1}'
    assert (folder / ".git/config").read_text() == "{}"
    assert sorted(folder.parent.rglob("*")) == before


def test_a_link_within_the_project_stays_a_link(folder: Path) -> None:
    (folder / "AGENTS.md").write_text("# Ours\n")
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    assert run("claude") == 0
    assert (folder / "CLAUDE.md").is_symlink()
    assert "tui-tasks" in (folder / "AGENTS.md").read_text()
    assert run("claude", "--remove") == 0
    assert (folder / "CLAUDE.md").is_symlink()
    assert (folder / "AGENTS.md").read_text() == "# Ours\n"


def test_a_link_at_the_name_of_a_new_file_is_not_followed(folder: Path) -> None:
    (folder / ".mcp.json.new").symlink_to("../victim")
    assert run("claude") == 0
    assert not (folder.parent / "victim").exists()


def test_print_shows_what_would_change_and_writes_nothing(folder: Path, output: pytest.CaptureFixture[str]) -> None:
    (folder / ".mcp.json").write_text("{}")
    before = all_files(folder)
    assert run("claude", "--print", "--hooks") == 0
    told = output.readouterr().out
    assert '+{"mcpServers"' in told
    assert "tui-tasks hook claude || true" in told
    assert all_files(folder) == before


def test_guidance_that_another_program_reads_stays(folder: Path, output: pytest.CaptureFixture[str]) -> None:
    assert run("codex") == run("opencode") == 0
    assert run("codex", "--remove") == 0
    assert "meant for opencode" in output.readouterr().out
    assert {"AGENTS.md", ".agents/skills/tui-tasks/SKILL.md"} <= all_files(folder).keys()
    assert run("opencode", "--remove") == 0
    assert all_files(folder) == {}


def test_a_skill_of_the_persons_own_stays(folder: Path, output: pytest.CaptureFixture[str]) -> None:
    file = folder / ".claude/skills/tui-tasks/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    assert run("claude") == 0
    assert "your own" in output.readouterr().out
    assert run("claude", "--remove") == 0
    assert file.read_text() == "mine"


def test_what_the_person_does_next_is_told(folder: Path, output: pytest.CaptureFixture[str]) -> None:
    assert run("codex", "--hooks") == 0
    assert "/hooks" in output.readouterr().out
    assert run("claude") == 0
    assert ".mcp.json" in output.readouterr().out.split("Next:")[1]
    assert run("codex", "--check") == 0
    assert "not checked without --hooks: the hooks (" in output.readouterr().out
    assert run("cursor", "--hooks") == 2
    assert "cursor has no hooks" in output.readouterr().err


def test_a_program_that_is_not_known_is_wrong_usage(folder: Path, output: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("nobody")
    assert ended.value.code == 2
    assert "claude" in output.readouterr().err


def test_hooks_that_would_be_run_twice_are_told(folder: Path, output: pytest.CaptureFixture[str]) -> None:
    assert run("claude", "--user", "--hooks-only") == 0
    assert "twice" not in output.readouterr().out
    assert run("claude", "--hooks-only") == 0
    assert "setup claude --user --hooks-only --remove" in output.readouterr().out


@pytest.fixture
def database(folder: Path) -> str:
    path = str(folder.parent / "tasks.db")
    assert main(["add", "something", "--db", path]) == 0
    return path


def doctor(database: str, output: pytest.CaptureFixture[str]) -> str:
    output.readouterr()
    main(["doctor", "--db", database])
    return output.readouterr().out


def test_doctor_tells_of_no_program_that_is_not_set_up(database: str, output: pytest.CaptureFixture[str]) -> None:
    assert doctor(database, output).splitlines()[1:] == ["no problems"]


def test_doctor_tells_where_a_program_is_set_up_and_when_it_was_heard(
    folder: Path, database: str, output: pytest.CaptureFixture[str]
) -> None:
    assert run("claude", "--hooks") == 0
    told = doctor(database, output)
    assert f"claude: server and hooks, no event yet, in {folder}" in told
    assert "no problems" in told
    payload = json.dumps({"session_id": "s", "hook_event_name": "SessionStart", "cwd": str(folder)}).encode()
    words = [sys.executable, "-m", "tui_tasks", "hook", "claude", "--db", database]
    subprocess.run(words, input=payload, check=True, timeout=DEADLINE)
    main(["agents", "--db", database])
    assert "claude: server and hooks, last heard 20" in doctor(database, output)


def test_doctor_tells_of_hooks_that_codex_does_not_trust(
    folder: Path, database: str, output: pytest.CaptureFixture[str]
) -> None:
    assert run("codex", "--user", "--hooks") == 0
    assert "trust them when it asks" in doctor(database, output)
    home = folder.parent / "home/.codex"
    file = home / "hooks.json"
    events = json.loads(file.read_text())["hooks"]
    keys = []
    for event, [group] in events.items():
        name = "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")
        known = program_findings._codex_hash(event, group["hooks"][0])
        keys.append(f'[hooks.state."{file}:{name}:0:0"]\ntrusted_hash = "{known}"\n')
    with (home / "config.toml").open("a") as config:
        config.write("\n".join(keys))
    assert "no problems" in doctor(database, output)
    file.write_text(file.read_text().replace("3610", "3611", 1))
    assert "for PreToolUse, which have changed since you trusted them" in doctor(database, output)


def test_hooks_have_the_hashes_that_codex_gave_them(folder: Path) -> None:
    assert run("codex", "--hooks-only") == 0
    hooks = json.loads((folder / PROGRAMS["codex"].project.hooks).read_text())["hooks"]
    seen = {
        "PreToolUse": "sha256:a292c052b015b6d2197ed26242cbdafa98e148a3db01e6d2dda0e7b0258b9857",
        "Stop": "sha256:cc40305ab884bf255319c8aae36d46a8336c5be87a50cca3090cb0717d17322e",
    }
    assert {event: program_findings._codex_hash(event, hooks[event][0]["hooks"][0]) for event in seen} == seen


def test_doctor_tells_of_what_is_too_old_refused_or_not_found(
    folder: Path, database: str, output: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("claude", "--hooks") == run("opencode", "--hooks") == 0
    file = folder / ".claude/settings.json"
    held = json.loads(file.read_text())
    del held["hooks"]["Stop"]
    file.write_text(json.dumps(held))
    plugin = folder / PROGRAMS["opencode"].project.hooks
    plugin.write_text(plugin.read_text() + "// old")
    refused = {"projects": {str(folder): {"disabledMcpjsonServers": ["tui-tasks"]}}}
    (folder.parent / "home/.claude.json").write_text(json.dumps(refused))
    monkeypatch.setenv("PATH", "/nowhere")
    told = doctor(database, output)
    assert "too old: no hook for Stop" in told
    assert "tui-tasks.js is too old" in told
    assert "is set not to use the server" in told
    assert "claude: tui-tasks is started there, and not found" in told
    for each in (file, plugin):
        assert f"the hooks in {each} do not start: tui-tasks is not found" in told


# Programs that do not start as a hook, with their mode, and what is said of them.
NOT_STARTED = (
    ("#!/nowhere/python\n", 0o755, "No such file or directory"),
    ("#!/bin/sh\necho broken >&2; exit 3\n", 0o755, "exit status 3, broken"),
    ("#!/bin/sh\necho hello\n", 0o755, "exit status 0, it is another program"),
    ("#!/bin/sh\n", 0o644, "is not executable"),
)


@pytest.mark.parametrize("program", HOOKED)
def test_doctor_tries_each_hook_and_tells_why_it_does_not_start(
    folder: Path,
    database: str,
    output: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    program: str,
) -> None:
    own = folder.parent / "bin" / "tui-tasks"
    monkeypatch.setattr("tui_tasks.installation.starter", lambda: (str(own),))
    assert run(program, "--user", "--hooks-only") == 0
    own.parent.mkdir()
    for script, mode, said in NOT_STARTED:
        own.write_text(script)
        own.chmod(mode)
        told = doctor(database, output)
        assert "do not start: " in told
        assert said in told
    shutil.rmtree(own.parent)
    told = doctor(database, output)
    assert "do not start: " in told
    assert "is not found" in told


def test_doctor_runs_nothing_that_a_project_names(
    folder: Path, database: str, output: pytest.CaptureFixture[str]
) -> None:
    script = folder / "tui-tasks"
    script.write_text(f"#!/bin/sh\ntouch '{folder}/ran'\necho hook\n")
    script.chmod(0o755)
    assert run("claude", "--hooks-only") == run("opencode", "--hooks-only") == 0
    named = [
        f"{script} hook claude",
        "sh -c 'touch ran; tui-tasks hook claude || true' 2>/dev/null",
        f"tui-tasks export -o {folder}/ran -- hook claude",
        f'{sys.executable} -c \'open("{folder}/ran", "w")\' tui_tasks hook claude',
        f"touch {folder}/ran && tui-tasks hook claude",
    ]
    file = folder / ".claude/settings.json"
    hooks = [{"hooks": [{"type": "command", "command": command}]} for command in named]
    file.write_text(json.dumps({"hooks": {f"Event{number}": [hook] for number, hook in enumerate(hooks)}}))
    plugin = folder / PROGRAMS["opencode"].project.hooks
    plugin.write_text(plugin.read_text().replace('["tui-tasks"', json.dumps([str(script)])[:-1]))
    told = doctor(database, output)
    assert told.count("so it was not tried") == len(named) + 1
    assert not (folder / "ran").exists()


def test_doctor_tells_of_hooks_that_may_stop_the_program_or_end_before_the_wait(
    folder: Path, database: str, output: pytest.CaptureFixture[str]
) -> None:
    assert run("gemini", "--user", "--hooks-only") == 0
    file = folder.parent / "home/.gemini/settings.json"
    assert "fail" not in doctor(database, output)
    held = json.loads(file.read_text())
    [hook] = held["hooks"]["BeforeTool"][0]["hooks"]
    hook["command"] = f"{Path(sys.executable).with_name('tui-tasks')} hook gemini"
    hook["timeout"] = 60_000
    file.write_text(json.dumps(held))
    told = doctor(database, output)
    assert "the hooks for BeforeTool fail, and may keep gemini from its work" in told
    assert "gemini ends the hooks for BeforeTool before [sessions] wait may be over" in told
    for event in ("BeforeTool", "AfterTool"):
        del held["hooks"][event][0]["hooks"][0]["timeout"]
    file.write_text(json.dumps(held))
    told = doctor(database, output)
    assert "gemini ends the hooks for BeforeTool before [sessions] wait may be over" in told


@pytest.mark.parametrize(
    ("file", "held", "is_trusted"),
    [
        ("trustedFolders.json", {}, False),
        ("trustedFolders.json", {"{folder}": "TRUST_FOLDER"}, True),
        ("trustedFolders.json", {"{folder}": "DO_NOT_TRUST"}, False),
        ("trustedFolders.json", {"{folder}/x": "TRUST_PARENT"}, True),
        ("settings.json", {"security": {"folderTrust": {"enabled": False}}}, True),
    ],
)
def test_doctor_tells_of_a_folder_that_gemini_does_not_trust(
    folder: Path,
    database: str,
    output: pytest.CaptureFixture[str],
    file: str,
    held: dict[str, Any],
    is_trusted: bool,
) -> None:
    assert run("gemini") == 0
    (folder.parent / "home/.gemini").mkdir()
    (folder.parent / "home/.gemini" / file).write_text(json.dumps(held).replace("{folder}", str(folder)))
    assert ("no problems" in doctor(database, output)) is is_trusted
