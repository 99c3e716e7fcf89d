"""The set-ups of docs/isolation: what each keeps from an agent, tried where the machine allows it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.client import DEADLINE, environment, program
from tests.started import Started
from tui_tasks.core.commit import journal
from tui_tasks.core.store import Store
from tui_tasks.settings.http_tokens import Tokens

NOBODY = 65534
# What an agent that means ill tries, with nothing but Python; it prints what came of each as JSON.
AGENT = """
import json, os, sys
def asked(request):
    sys.stdout.write(json.dumps(request) + "\\n")
    sys.stdout.flush()
    return json.loads(sys.stdin.readline())
def tried(path, flags=os.O_RDONLY):
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return type(error).__name__
    return "opened"
db, home = sys.argv[1:3]
found = {
    "speaks": asked({"id": 1, "tool": "tasklist:add_task", "args": {"name": "mine"}})["ok"],
    "as another": asked({"id": 2, "tool": "tasklist:display", "agent": "other"})["error"]["code"],
    "as the human": asked({"id": 3, "tool": "control:accept", "args": {"uid": "#1"}})["error"]["code"],
    "database": tried(db),
    "tokens": tried(db + ".tokens"),
    "settings": tried(home + "/config.toml", os.O_WRONLY),
    "terminal": tried("/dev/tty", os.O_RDWR),
    "parents": sum(entry.isdigit() for entry in os.listdir("/proc")) if os.path.isdir("/proc") else 0,
}
sys.stderr.write(json.dumps(found))
"""


@pytest.fixture
def db() -> Iterator[Path]:
    """A database as `tui-tasks` makes one, below a home that anybody may enter, with settings beside it."""
    home = Path(tempfile.mkdtemp(prefix="tui-tasks-home-"))
    home.chmod(0o755)
    (home / "config.toml").touch(0o600)
    path = home / "state" / "tasks.db"
    Store(str(path)).close()
    Tokens(str(path)).add("builder", read_only=False, now=1)
    yield path
    shutil.rmtree(home)


def python_for(**options: Any) -> str:
    """A Python that a process with these options may start."""
    for found in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin")):
        with contextlib.suppress(PermissionError):
            if found is not None and subprocess.run([found, "-c", ""], cwd="/", check=False, **options).returncode == 0:
                return found
    pytest.skip("no Python here may be started by another user")


def tried_behind_a_pipe(db: Path, *sandbox: str, **options: Any) -> dict[str, Any]:
    """What the agent finds out below `sandbox`, with nothing but a channel of ours on its pipe."""
    home = db.parents[1]
    channel = Started(
        program("serve", "--db", str(db), "--agent-only", "builder", "--no-scheduler"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(home),
    )
    try:
        agent = subprocess.run(
            [*sandbox, python_for(**options), "-c", AGENT, str(db), str(home)],
            stdin=channel.stdout,
            stdout=channel.stdin,
            stderr=subprocess.PIPE,
            timeout=DEADLINE,
            cwd="/",
            check=False,
            **options,
        )
    finally:
        assert channel.stdin is not None
        assert channel.stdout is not None
        channel.stdin.close()
        channel.stdout.close()
        channel.wait(DEADLINE)
    assert agent.returncode == 0, agent.stderr
    found: dict[str, Any] = json.loads(agent.stderr)
    with Store(str(db), read_only=True) as store:
        told = [(entry.actor, entry.kind) for entry in journal.since(store.db, 0, 99) if entry.kind != "list.created"]
    assert told == [("builder", "task.created"), ("builder", "agent.refused"), ("builder", "agent.refused")]
    return found


def test_one_account_keeps_the_channel_and_nothing_else(db: Path) -> None:
    """Plainly what security.md says: the file is open to every process of the same user."""
    found = tried_behind_a_pipe(db, start_new_session=True)
    assert (found["speaks"], found["as another"], found["as the human"]) == (True, "forbidden", "forbidden")
    assert (found["database"], found["settings"]) == ("opened", "opened")


def as_nobody() -> dict[str, Any]:
    """Options of a process of another user."""
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    return {"user": NOBODY, "group": NOBODY, "extra_groups": [], "start_new_session": True}


def test_another_user_behind_a_pipe_reaches_the_channel_and_nothing_else(db: Path) -> None:
    options = as_nobody()
    found = tried_behind_a_pipe(db, **options)
    assert (found["speaks"], found["as another"], found["as the human"]) == (True, "forbidden", "forbidden")
    for kept in ("database", "tokens", "settings"):
        assert found[kept] == "PermissionError", kept
    assert found["terminal"] != "opened"


def test_another_user_with_a_token_reaches_http_and_nothing_else(db: Path) -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    options = as_nobody()
    token = Tokens(str(db)).add("other", read_only=False, now=1)
    serving = Started(
        program("mcp", "--http", "--port", "0", "--db", str(db)),
        stdout=subprocess.PIPE,
        env=environment(db.parents[1]),
        text=True,
    )
    script = (
        "import json, sys, urllib.request, urllib.error\n"
        "body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {'protocolVersion':"
        " '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'x', 'version': '1'}}}).encode()\n"
        "def status(token):\n"
        "    headers = {'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream',\n"
        "        'Authorization': 'Bearer ' + token}\n"
        "    try:\n"
        "        return urllib.request.urlopen(urllib.request.Request(sys.argv[1], body, headers)).status\n"
        "    except urllib.error.HTTPError as error:\n"
        "        return error.code\n"
        "print(status(sys.argv[2]), status('guessed'))\n"
    )
    try:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        command = [python_for(**options), "-c", script, url, token]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE, cwd="/", check=False, **options
        )
    finally:
        serving.terminate()
        serving.wait(DEADLINE)
        serving.stdout.close()
    assert done.stdout.split() == ["200", "401"], done.stderr


def test_a_sandbox_with_the_pipe_reaches_the_channel_and_sees_nothing_else(db: Path) -> None:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.skip("bubblewrap is not installed")
    system = [
        word
        for name in ("/usr", "/lib", "/lib64", "/bin")
        if Path(name).exists()
        for word in (
            ("--symlink", str(Path(name).readlink()), name) if Path(name).is_symlink() else ("--ro-bind", name, name)
        )
    ]
    python = [word for name in {sys.prefix, sys.base_prefix} for word in ("--ro-bind", name, name)]
    kept = [*system, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", *python]
    sandbox = [bwrap, *kept, "--unshare-all", "--new-session", "--die-with-parent"]
    if subprocess.run([*sandbox, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("bubblewrap may make no namespaces here")
    found = tried_behind_a_pipe(db, *sandbox)
    assert (found["speaks"], found["as another"], found["as the human"]) == (True, "forbidden", "forbidden")
    for kept_name in ("database", "tokens", "settings"):
        assert found[kept_name] == "FileNotFoundError", kept_name
    assert found["terminal"] != "opened"
    assert found["parents"] <= 2
