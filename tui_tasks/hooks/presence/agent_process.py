"""Which process is the agent whose hook this is, so that others can tell when it is no more.

The words are those of `runner.processes.ProcessIdentity`, which takes too long to import for every hook.
"""

import os

# Programs start their hooks by these, which may stay between the two.
_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "ksh", "ash", "fish"})
_MAX_SHELLS = 4


def of_hook(program: str, body: bytes) -> dict[str, str | int]:
    """The process that started this one: `boot`, `namespace`, `pid`, `born`; where there is no `/proc`, the pid alone.

    Claude Code names itself in the environment, which what it starts inherits: it is believed for its own payloads.
    The windows of Codex share a server that runs their hooks: that is said by `is_shared`.
    """
    pid = int(os.environ.get("CLAUDE_PID", "0")) if program == "claude" and _is_of_claude(body) else 0
    born = _born(pid) if pid else ""
    if not born:
        pid = _above_shells(os.getppid())
        born = _born(pid)
    if not born:
        return {"boot": "", "namespace": "", "pid": pid, "born": ""}
    shared = {"is_shared": True} if program == "codex" and b"\0app-server\0" in _read(f"/proc/{pid}/cmdline") else {}
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


def _above_shells(pid: int) -> int:
    """The process, or the one above it where it is a shell that was given a command to run."""
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
    # The name stands in brackets and may itself hold brackets and blanks.
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
