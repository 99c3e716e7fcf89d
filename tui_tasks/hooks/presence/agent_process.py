"""Finds the process of the agent that runs this hook, so that its end can be noticed.

The keys are those of `runner.processes.ProcessIdentity`, whose import takes too long for a hook.
"""

import os

# Shells by which programs start hooks; they may stay as a process in between.
_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "ksh", "ash", "fish"})
_MAX_SHELLS = 4


def of_hook(program: str, body: bytes) -> dict[str, str | int]:
    """Return the process that started this one: `boot`, `namespace`, `pid`, `born`; without `/proc` only the pid.

    Claude Code names itself in an environment variable that its children inherit; it is used for its own payloads only.
    The windows of Codex share a server that runs their hooks, which `is_shared` marks.
    """
    pid = int(os.environ.get("CLAUDE_PID", "0")) if program == "claude" and _is_of_claude(body) else 0
    born = _born(pid) if pid else ""
    if not born:
        pid = above_shells(os.getppid())
        born = _born(pid)
    if not born:
        return {"boot": "", "namespace": "", "pid": pid, "born": ""}
    shared = {"is_shared": True} if is_shared(program, pid) else {}
    boot = _read("/proc/sys/kernel/random/boot_id").decode(errors="replace").strip()
    return {
        "boot": boot,
        "namespace": os.readlink("/proc/self/ns/pid"),
        "pid": pid,
        "born": born,
        **shared,
    }


def _is_of_claude(body: bytes) -> bool:
    named, session = os.environ.get("CLAUDE_PID", ""), os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    return named.isdecimal() and session.encode(errors="replace") in body


def is_shared(program: str, pid: int) -> bool:
    """Return whether a process of a program has several sessions at once."""
    return program == "codex" and b"\0app-server\0" in _read(f"/proc/{pid}/cmdline")


def above_shells(pid: int) -> int:
    """Return the process, or its parent if it is a shell that runs a command."""
    for _ in range(_MAX_SHELLS):
        words = _read(f"/proc/{pid}/cmdline").split(b"\0")[:3]
        shell = os.path.basename(words[0]).decode(errors="replace").lstrip("-")
        if shell not in _SHELLS or not any(word[:1] == b"-" and b"c" in word for word in words[1:]):
            break
        pid = int(_stat(pid)[1])
    return pid


def _born(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _stat(pid: int) -> list[str]:
    # The name is in parentheses, and may itself contain parentheses and spaces.
    return _read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()


def _read(path: str) -> bytes:
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
