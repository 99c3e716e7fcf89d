"""`tui-tasks hook PROGRAM`: what an agent program runs at each of its events (docs: protocol, section 10).

It reads one payload and leaves it beside the database for the next of our processes that has the database open, with
the process of the agent that runs this hook, so that its end can be noticed. It opens no database itself, so a locked,
missing or damaged one does not matter. When a human can answer, or has something for the agent, it prints that in the
program's form; else it prints nothing.

An agent waits for it at each event: it may take at most half as long again as Python's own start. So it imports neither
`re`, `json`, `argparse`, `typing` nor `contextlib`; the code for answers is imported when needed.
"""

import os

from tui_tasks.hooks import PROGRAM_NAMES, SCREENS, hook_process, hooks_folder
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
        head = payload_head(program, hook_process.find(program, body), project, size, len(body))
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
