"""`tui-tasks hook PROGRAM`: what an agent program runs at each of its events (docs: protocol, section 10).

It reads one payload and leaves it beside the database for the next of our processes that has the database open, with
the process of the agent that runs this hook, so that its end can be noticed. It opens no database itself, so a locked,
missing or damaged one does not matter. When a human can answer, or has something for the agent, it prints that in the
program's form; else it prints nothing.

An agent waits for it at each event: it may take at most half as long again as Python's own start. So it imports neither
`re`, `json`, `argparse`, `typing` nor `contextlib`; the code for answers is imported when needed.
"""

import os

from tui_tasks.hooks import PROGRAM_NAMES, SCREENS, hooks_folder
from tui_tasks.hooks.hook_folder import MAX_PAYLOAD, Folder, Head, payload_head, put_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Names the log file for errors, which may be printed on no stream.
LOG = "TUI_TASKS_HOOK_LOG"
# Set for an agent started by a run: its session's id, or its program. It reports directly to its supervisor.
SUPERVISED = "TUI_TASKS_SUPERVISED"
# A folder that has files only while a human has something for an agent; see `reply_sender`.
OUTBOX = "outbox"
# With this our plugin in opencode asks for the folder of messages, which no file of a project can name.
_WHERE_IS_OUTBOX = b'{"hook_event_name":"outbox"}'
_CHUNK = 1 << 16
# A FIFO without a reader does not block, and a link is not followed.
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def main(arguments: "Sequence[str]") -> bool:
    """Run a hook without ever raising; return False, with nothing done, when no program is named or help is asked for.

    Unknown words are logged: to Claude Code the exit status for wrong usage would mean that the tool may not run.
    """
    given = {"--db": "", "--project": ""}
    words, others = list(arguments), []
    while words:
        option, equals, value = (word := words.pop(0)).partition("=")
        if word in ("-h", "--help"):
            return False
        if option in given and (equals or words):
            given[option] = value if equals else words.pop(0)
        else:
            others.append(word)
    program = others.pop(0) if others else ""
    if program not in PROGRAM_NAMES:
        return False
    if others:
        _log(program, ValueError(f"not known, and ignored: {others}"))
    run(program, given["--db"], given["--project"])
    return True


def run(program: str, database: str, project: str) -> None:
    """Run a hook; errors only go to the log. Closed standard streams count as empty."""
    try:
        _open_closed_streams()
        body, size = _read()
        if _is_supervised(program, body):
            return
        path = hooks_folder(_path(database))
        if program == "opencode" and body == _WHERE_IS_OUTBOX:
            from tui_tasks.hooks import hook_forms

            hook_forms.printed({OUTBOX: os.path.join(os.path.abspath(path), OUTBOX)})
            return
        head = payload_head(program, process_of_hook(program, body), project, size, len(body))
        with Folder(path, make=True) as folder:
            _carry_out(folder, program, head, body)
    except (Exception, KeyboardInterrupt) as error:
        _log(program, error)


def _is_supervised(program: str, body: bytes) -> bool:
    named = os.environ.get(SUPERVISED, "")
    return bool(named) and (named == program or named.encode(errors="replace") in body)


def _carry_out(folder: Folder, program: str, head: Head, body: bytes) -> None:
    is_kept = False
    try:
        there = folder.names()
        if SCREENS in there and _may_ask(body):
            from tui_tasks.hooks.replies import replying_hook

            is_kept = replying_hook.answer(folder, head, body)
        if OUTBOX in there and not is_kept and _is_anything_in(folder, OUTBOX):
            from tui_tasks.hooks.replies import replying_hook

            head["ends_turn"] = replying_hook.deliver(folder, head, body)
    except (Exception, KeyboardInterrupt) as error:
        _log(program, error)
    if not is_kept:
        put_payload(folder, head, body)


def _is_anything_in(folder: Folder, name: str) -> bool:
    with Folder(name, make=False, inside=folder) as inner:
        return bool(inner.names())


def _may_ask(body: bytes) -> bool:
    """Return whether a payload may be a permission or question for the human."""
    return b"PermissionRequest" in body or b"n.asked" in body or b"ask_user" in body


def _open_closed_streams() -> None:
    """Open closed standard streams, so that no file that is opened later gets their numbers."""
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _read() -> tuple[bytes, int]:
    """Return at most `MAX_PAYLOAD` bytes of standard input, and how many bytes came."""
    kept, size = bytearray(), 0
    while chunk := _read_chunk():
        size += len(chunk)
        kept += chunk[: MAX_PAYLOAD - len(kept)]
    return bytes(kept), size


def _read_chunk() -> bytes:
    while True:
        try:
            return os.read(0, _CHUNK)
        except BlockingIOError:
            import select

            select.select([0], [], [])


def _path(database: str) -> str:
    """Return the path of the database: the named one, else `TUI_TASKS_DB`, else the platform's default."""
    named = database or os.environ.get("TUI_TASKS_DB", "")
    if named and "://" not in named and not named.startswith("~"):
        return named
    if named.startswith(("postgresql://", "postgres://")):
        from tui_tasks.installation import known_replica

        if (replica := known_replica(named)) is None:
            raise FileNotFoundError("no screen has opened this server's database on this machine")
        return replica
    if named:
        from tui_tasks.settings import paths

        return paths.database(named)
    from tui_tasks.installation import default_database

    path = default_database()
    if not os.path.isdir(os.path.dirname(path)):
        from tui_tasks.core.engine.file_writes import make_folder

        make_folder(os.path.dirname(path))
    return path


def _log(program: str, error: BaseException) -> None:
    path = os.environ.get(LOG)
    if not path:
        return
    try:
        import time

        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{at} hook {program}: {type(error).__name__}: {' '.join(str(error).split())}\n"
        handle = os.open(path, _LOG_FLAGS, 0o600)
        os.write(handle, line.encode(errors="replace"))
        os.close(handle)
    except OSError:
        pass


# Shells by which programs start hooks; they may stay as a process in between.
_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "ksh", "ash", "fish"})
_MAX_SHELLS = 4
_MAX_ANCESTORS = 64
# Our plugin in opencode names its process here, as `PID:BORN`: a short run may end before its last hook has begun.
NAMED = "TUI_TASKS_AGENT_PROCESS"


def process_of_hook(program: str, body: bytes) -> dict[str, str | int]:
    """Return the process that started this one: `boot`, `namespace`, `pid`, `born`; without `/proc` only the pid.

    The keys are those of `runner.processes.ProcessIdentity`, whose import takes too long for a hook. It also has
    `ancestors`, see there. Claude Code names itself in an environment variable that its children inherit; it is used
    for its own payloads only. The windows of Codex share a server that runs their hooks, which `is_shared` marks.
    """
    unknown: dict[str, str | int] = {"boot": "", "namespace": "", "pid": 0, "born": ""}
    if not _stat_fields(os.getpid()):
        return {**unknown, "pid": above_shells(os.getppid())}
    process = {
        **unknown,
        "boot": _read_start("/proc/sys/kernel/random/boot_id").decode(errors="replace").strip(),
        "namespace": os.readlink("/proc/self/ns/pid"),
        "ancestors": ancestors(),
    }
    pid, born = _named(program, body)
    if not born:
        pid = above_shells(os.getppid())
        born = _born(pid)
    if not born or _is_reaper(program, pid):
        return process  # it has ended
    shared = {"is_shared": True} if is_shared(program, pid) else {}
    return {**process, "pid": pid, "born": born, **shared}


def ancestors() -> str:
    """Return the processes above this one, nearest first, as `PID:BORN` with blanks between; empty without `/proc`."""
    pids: list[str] = []
    pid = os.getppid()
    while pid > 0 and len(pids) < _MAX_ANCESTORS and (born := _born(pid)):
        pids.append(f"{pid}:{born}")
        pid = int(_stat_fields(pid)[1])
    return " ".join(pids)


def waits_for_hook(head: "dict[str, str | int | float | None]", started_by: int) -> bool:
    """Return whether an agent may still wait for this hook: neither its process nor the one that started the hook (a
    shell between them, perhaps) has ended. `head` is that of the payload.
    """
    pid, born = head.get("pid"), head.get("born")
    if os.getppid() != started_by:
        return False
    if not isinstance(pid, int) or not pid or not born:
        return True
    return _born(pid) == born


def is_below(process: str, head: "dict[str, str | int | float | None]") -> bool:
    """Return whether this hook runs below a process, `PID:BORN`; also if that is unknown or has ended.

    `head` is that of the payload.
    """
    pid, _, born = process.partition(":")
    above = head.get("ancestors")
    if not pid.isdecimal() or not born or not isinstance(above, str) or not above:
        return True
    return process in above.split() or _born(int(pid)) != born


def _named(program: str, body: bytes) -> tuple[int, str]:
    """Return the process that the program names as its own, and when it was born; blank if it names none."""
    if program == "claude" and _is_of_claude(body):
        pid = int(os.environ["CLAUDE_PID"])
        return pid, _born(pid)
    pid_text, _, born = os.environ.get(NAMED, "").partition(":") if program == "opencode" else ("", "", "")
    return (int(pid_text), born) if pid_text.isdecimal() and born.isdecimal() else (0, "")


def _is_of_claude(body: bytes) -> bool:
    named, session = os.environ.get("CLAUDE_PID", ""), os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    return named.isdecimal() and session.encode(errors="replace") in body


def _is_reaper(program: str, pid: int) -> bool:
    """Return whether a process is one to which this hook fell when the agent ended, and not the agent itself."""
    words = _argv(pid)
    if pid != 1 and os.path.basename(words[0]) != b"systemd":
        return False
    return not any(program.encode() in word for word in words)


def is_shared(program: str, pid: int) -> bool:
    """Return whether a process of a program has several sessions at once."""
    return program == "codex" and b"app-server" in _argv(pid)[1:]


def above_shells(pid: int) -> int:
    """Return the process, or its parent if it is a shell that runs a command."""
    for _ in range(_MAX_SHELLS):
        parent, words = (int(_stat_fields(pid)[1]), _argv(pid)) if _stat_fields(pid) else _by_psutil(pid)
        shell = os.path.basename(words[0]).decode(errors="replace").lstrip("-")
        if shell not in _SHELLS or not any(word[:1] == b"-" and b"c" in word for word in words[1:3]):
            break
        pid = parent
    return pid


def _by_psutil(pid: int) -> tuple[int, list[bytes]]:
    """Return the parent and the argv of a process without `/proc`; as if it were no shell where psutil is missing."""
    try:
        import psutil

        process = psutil.Process(pid)
        return process.ppid(), [word.encode(errors="replace") for word in process.cmdline()] or [b""]
    except Exception:  # psutil.Error is not there to be named without psutil
        return pid, [b""]


def _argv(pid: int) -> list[bytes]:
    return _read_start(f"/proc/{pid}/cmdline").split(b"\0")


def _born(pid: int) -> str:
    fields = _stat_fields(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _stat_fields(pid: int) -> list[str]:
    # The name is in parentheses, and may itself contain parentheses and spaces.
    return _read_start(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()


def _read_start(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, 4096)
    except OSError:
        return b""
    finally:
        os.close(handle)
