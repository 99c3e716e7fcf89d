"""The past on the screen."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.tui.plan import NOW, ZONE, Plan
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import at_each_size, settled
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.state.past_link import PastLink


@at_each_size("time-travel")
def test_an_hour_ago_is_shown_as_it_was_with_its_instant_and_its_entry(
    plan: Plan, draw: Draw, picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    link = PastLink(plan.path, "20:10", clock=lambda: NOW, zone=ZONE)
    app = TaskApp(link, zone=ZONE, list_name=plan.list_uid)
    draw(app, press=["left_curly_bracket", "j", "j"], run_before=settled)
