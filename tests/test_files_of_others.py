"""Each file that somebody else may have put there is refused where it is no regular file of a sensible size.

None of these may block: a FIFO without a writer would hold its reader up for ever.
"""

import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.hooks.playing import Player, claude, hook, is_silent
from tests.work.repositories import git
from tui_tasks.cli import completion
from tui_tasks.cli import main as program
from tui_tasks.cli.admin import import_export, program_files, program_findings, setup_command, sync_file
from tui_tasks.cli.streams import ProgressBar
from tui_tasks.core.errors import DatabaseRefused, InvalidArgument
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.store import Store
from tui_tasks.hooks import hooks_folder, intake, screen_presence, session_records
from tui_tasks.hooks.follower import RecordWatch
from tui_tasks.hooks.hook_folder import Folder
from tui_tasks.hooks.programs import claude as claude_status
from tui_tasks.settings import config
from tui_tasks.settings.http_tokens import Tokens
from tui_tasks.todo_tool import TodoTool
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.painting import theme_file
from tui_tasks.work import agent_worktrees

pytestmark = pytest.mark.timeout(60)

SPARSE_BYTES = 15 * 1024**4
KINDS = ("fifo", "folder", "device", "sparse")

Put = Callable[[Path], Path]


def put(kind: str, path: Path) -> Path:
    """Put something there that no reader expects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(SPARSE_BYTES)
    return path


@pytest.fixture(params=KINDS)
def hostile(request: pytest.FixtureRequest) -> Put:
    """What puts one of them at a path."""
    return lambda path: put(request.param, path)


def test_as_the_settings_file(tmp_path: Path, hostile: Put) -> None:
    file = hostile(tmp_path / "config.toml")
    settings, (problem,) = config.load(file)
    assert settings == config.Config()
    assert "cannot be read" in problem.message
    with pytest.raises(OSError, match=r"not a regular file|bytes"):
        config.keep_theme(file, "nord")


def test_as_the_settings_file_of_a_completion(tmp_path: Path, hostile: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(hostile(tmp_path / "config.toml")))
    with pytest.raises(OSError, match=r"not a regular file|bytes"):
        completion._runners("", None, "")  # type: ignore[arg-type]


def test_as_the_project_file_of_a_command(
    tmp_path: Path, hostile: Put, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = hostile(tmp_path / ".tui-tasks.toml")
    if file.is_symlink():
        return  # a device is another user's, whose files are skipped
    monkeypatch.chdir(tmp_path)
    assert program.main(["add", "--db", str(tmp_path / "tasks.db"), "Fix it"]) == 1
    assert str(file) in capsys.readouterr().err


def test_as_the_configuration_of_a_git_repository(tmp_path: Path, hostile: Put) -> None:
    hostile(tmp_path / "shop" / ".git" / "config")
    assert setup_command.proposed(tmp_path / "shop") == "shop"


def test_as_the_attributes_of_a_git_repository(tmp_path: Path, hostile: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    hostile(tmp_path / ".gitattributes")
    assert not agent_worktrees._has_lfs(tmp_path / ".gitattributes")
    assert sync_file._named(tmp_path) is None
    monkeypatch.setattr(sync_file, "_is_merged", lambda path: False)  # git itself takes its time with a FIFO
    with pytest.raises(OSError, match=r"not a regular file|bytes"):
        sync_file.install_merge(tmp_path / "tasks.jsonl")


def test_as_a_theme(tmp_path: Path, hostile: Put) -> None:
    problems: list[theme_file.ThemeProblem] = []
    assert theme_file.read(hostile(tmp_path / "mine.toml"), problems) is None
    assert len(problems) == 1


def test_as_the_tokens_of_a_database(tmp_path: Path, hostile: Put) -> None:
    hostile(tmp_path / "tasks.db.tokens")
    with pytest.raises(DatabaseRefused, match="cannot read the tokens"):
        Tokens(str(tmp_path / "tasks.db")).all()


def test_as_the_checkpoint_of_todo_tool(tmp_path: Path, hostile: Put) -> None:
    hostile(tmp_path / "todos.json")
    todos = [{"id": name, "content": name, "status": "pending"} for name in "ab"]
    assert "todos.json" in str(TodoTool(checkpoint=tmp_path).execute(merge=True, todos=todos))


def test_as_a_file_of_an_agent_program(tmp_path: Path, hostile: Put) -> None:
    file = hostile(tmp_path / "settings.json")
    with pytest.raises(program_files.NotSetUp, match=re.escape(str(file))):
        program_files.read(file, tmp_path)
    assert program_findings._json(file) == {}


def test_as_a_file_that_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put("sparse", tmp_path / "tasks.jsonl")
    assert program.main(["import", "jsonl", str(file), "--db", str(tmp_path / "tasks.db")]) == 1
    assert "bytes" in capsys.readouterr().err


def test_in_a_folder_that_is_imported(tmp_path: Path, hostile: Put) -> None:
    file = hostile(tmp_path / "tasks" / "1.md")
    if file.is_file():
        with pytest.raises(InvalidArgument, match="bytes"):
            import_export.read_folder(tmp_path, ("tasks",))
    else:
        assert import_export.read_folder(tmp_path, ("tasks",)) == {}


def test_as_a_file_that_an_export_replaces(tmp_path: Path) -> None:
    file = put("sparse", tmp_path / "tasks" / "1.md")
    import_export.write_folder(tmp_path, {"tasks/1.md": "text"}, ProgressBar("writing", 1))
    assert file.read_text() == "text"


def test_as_the_file_that_another_program_changes_under_sync_file(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    with Store(str(tmp_path / "tasks.db")) as store:
        following = sync_file.follow(store, file, None, None)
        next(following)
        file.unlink()
        put("sparse", file)
        with Store(store.path) as other:
            other.commit(EnsureList("other", "tasklist"), actor="human", now=1)
        with pytest.raises(OSError, match="bytes"):
            next(following)


def test_as_what_an_editor_leaves(tmp_path: Path, hostile: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hostile(tmp_path / "made")
    code = "import os, sys; os.unlink(sys.argv[2]); os.rename(sys.argv[1], sys.argv[2])"
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-c", code, str(made)]))
    monkeypatch.setattr(editor, "_run", lambda _, argv: editor._exit_status(argv))
    with pytest.raises(editor.NoEditor, match="cannot be read"):
        editor._edited(None, "text")  # type: ignore[arg-type]


# The files of hooks


def test_as_a_payload_of_a_hook(store: Store, clock: Clock, hostile: Put) -> None:
    player = Player(store, clock, "claude", pid=4711)
    place = Path(hooks_folder(store.path)) / "payloads"
    Folder(hooks_folder(store.path), make=True).close()
    Folder(str(place), make=True).close()
    hostile(place / "0-1")
    player.play({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    assert player.state()[0] == "working"


def test_as_the_announcement_of_a_screen(store: Store, hostile: Put) -> None:
    with screen_presence.announced(store.path, {}):
        assert screen_presence.is_open(store.path)
        hostile(Path(hooks_folder(store.path)) / "screens" / "1-1")
        assert screen_presence.is_open(store.path)


def test_as_the_record_of_a_session(store: Store, clock: Clock, tmp_path: Path, hostile: Put) -> None:
    path = hostile(tmp_path / "record.jsonl")
    player = Player(store, clock, "claude", pid=4711)
    fields = {"session_id": "s", "transcript_path": str(path)}
    player.play({**fields, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    watch = RecordWatch(
        store, lambda: intake.process_payloads(store, clock.now, player.settings), config.SessionSettings
    )
    for _ in range(3):
        clock.forward(1)
        watch.look(clock.now)
    player.play({**fields, "hook_event_name": "Stop"})
    assert player.state()[0] == "idle"
    assert player.seen().session.tokens is None


@pytest.mark.parametrize(
    "record", ["/a\0b", "/\ud800", "/" + "x" * 5_000, "/proc/self/mem", "/dev/stdin"], ids=range(5)
)
def test_a_record_whose_path_is_none_spoils_no_payload(store: Store, clock: Clock, record: str) -> None:
    player = Player(store, clock, "claude", pid=4711)
    fields = {"session_id": "s", "transcript_path": record}
    player.play({**fields, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    watch = RecordWatch(
        store, lambda: intake.process_payloads(store, clock.now, player.settings), config.SessionSettings
    )
    for _ in range(3):
        clock.forward(1)
        watch.look(clock.now)
    player.play({**fields, "hook_event_name": "Stop"})
    assert player.state()[0] == "idle"


def test_as_the_status_of_claude_code(tmp_path: Path, hostile: Put) -> None:
    hostile(tmp_path / "sessions" / "4711.json")
    assert claude_status.idle_since(str(tmp_path / "projects" / "folder" / "s.jsonl"), "s", 4711) is None


def test_as_the_log_of_hooks(tmp_path: Path) -> None:
    log = put("fifo", tmp_path / "log")
    nowhere = str(tmp_path / "missing" / "tasks.db")
    assert is_silent(hook("claude", claude("Stop"), "--db", nowhere, home=tmp_path, TUI_TASKS_HOOK_LOG=str(log)))
    assert stat.S_ISFIFO(log.stat().st_mode)


def test_a_record_that_is_longer_than_any_is_not_read_at_all(tmp_path: Path) -> None:
    path = put("sparse", tmp_path / "record.jsonl")
    part = session_records.Part()
    assert list(session_records.lines_of(str(path), part)) == []
    assert json.dumps(part.read) == "0"
