"""Which process has started a hook: the agent's, as far as `/proc` shows it, and whether it still waits.

Every hook imports this at each event, so it imports nothing slow.
"""

import os

# Shells by which programs start hooks; they may stay as a process in between.
_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "ksh", "ash", "fish"})
_MAX_SHELLS = 4
_MAX_ANCESTORS = 64
# Our plugin in opencode names its process here, as `PID:BORN`: a short run may end before its last hook has begun.
NAMED = "TUI_TASKS_AGENT_PROCESS"


def find(program: str, body: bytes) -> dict[str, str | int]:
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
