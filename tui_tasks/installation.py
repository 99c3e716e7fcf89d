"""This installation of the program: the command that starts it, and the one that adds an extra to it."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path, PurePath


def starter() -> tuple[str, ...]:
    """Return the argv that starts this very installation from anywhere."""
    script = Path(sys.executable).with_name("tui-tasks")
    return (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-m", "tui_tasks")


def install_command(extra: str) -> str:
    """Return the command line that adds an extra to this installation: of pipx, of uv, or of its own pip."""
    source, is_editable = _source()
    what = f"'{source}[{extra}]'" if source else f"'tui-tasks[{extra}]'"
    place = PurePath(sys.prefix).parts
    if "pipx" in place:
        return f"pipx install --force {what}"
    if place[-3:-1] == ("uv", "tools"):
        return f"uv tool install --force {what}"
    pip = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
    return f"{pip} {'-e ' if is_editable else ''}{what}"


def _source() -> tuple[str, bool]:
    """Return the folder from which the package was installed, empty if from an index, and whether it is editable
    (packaging.python.org, "Recording the Direct URL Origin").
    """
    try:
        held = json.loads(metadata.distribution("tui-tasks").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return "", False
    folder = held.get("url", "").removeprefix("file://") if "dir_info" in held else ""
    return folder, bool(folder and held["dir_info"].get("editable"))
