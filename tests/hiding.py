"""Hides from a Python process what Linux alone has. A `sitecustomize` on its path calls `hide`, in its children too."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Collection
from typing import Any


def hide(names: Collection[str]) -> None:
    """Hide things for the rest of the process: what asks for one is told what it is told on another system."""
    if "inotify" in names:
        sys.modules["inotify_simple"] = None  # type: ignore[assignment]
    if "ofd" in names:
        for lock in ("F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW"):
            if hasattr(fcntl, lock):
                delattr(fcntl, lock)
    if "proc" in names:
        sys.addaudithook(_refuse_proc)
        os.stat, os.readlink = _without_proc(os.stat), _without_proc(os.readlink)
    if "prctl" in names:
        sys.addaudithook(_refuse_prctl)
    if "psutil" in names:
        sys.modules["psutil"] = None  # type: ignore[assignment]


def _refuse_proc(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and _is_hidden(arguments[0]):
        raise FileNotFoundError(2, "hidden", arguments[0])


def _refuse_prctl(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "ctypes.dlsym" and arguments[1] == "prctl":
        raise AttributeError("hidden: prctl")


def _without_proc(call: Callable[..., Any]) -> Any:
    def called(path: Any, *arguments: Any, **named: Any) -> Any:
        if _is_hidden(path):
            raise FileNotFoundError(2, "hidden", path)
        return call(path, *arguments, **named)

    return called


def _is_hidden(path: Any) -> bool:
    """Whether a path is in `/proc`, and it is not psutil that asks: elsewhere it has other ways to the same facts."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path).startswith("/proc"):
        return False
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("psutil"):
            return False
        frame = frame.f_back
    return True
