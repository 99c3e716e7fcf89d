"""How an extra is installed, by the way in which the program was."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib import metadata

import pytest

from tui_tasks import installation

CHECKOUT = json.dumps({"url": "file:///src/tool", "dir_info": {"editable": True}})
COPIED = json.dumps({"url": "file:///src/tool", "dir_info": {}})


@pytest.mark.parametrize(
    ("prefix", "origin", "pip", "command"),
    [
        ("/home/me/.local/pipx/venvs/tui-tasks", COPIED, True, "pipx install --force '/src/tool[mcp]'"),
        ("/home/me/.local/share/uv/tools/tui-tasks", COPIED, False, "uv tool install --force '/src/tool[mcp]'"),
        ("/src/tool/.venv", CHECKOUT, True, "EXE -m pip install -e '/src/tool[mcp]'"),
        ("/src/tool/.venv", CHECKOUT, False, "uv pip install --python EXE -e '/src/tool[mcp]'"),
        ("/opt/venv", None, True, "EXE -m pip install 'tui-tasks[mcp]'"),
    ],
)
def test_the_command_is_that_of_the_way_in_which_it_was_installed(
    monkeypatch: pytest.MonkeyPatch, prefix: str, origin: str | None, pip: bool, command: str
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(metadata.PathDistribution, "read_text", lambda *_: origin)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object() if pip else None)
    assert installation.install_command("mcp") == command.replace("EXE", sys.executable)
