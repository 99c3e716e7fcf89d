"""The default places of files are the platform's, told without the library that takes long to import."""

import platformdirs
import pytest

from tui_tasks.default_paths import NAME, default_configuration, default_database


@pytest.mark.parametrize("data", [None, "", "/data", "/data/", "relative", " ", "~/data", "/with a/space"])
@pytest.mark.parametrize("home", ["/home/someone", "/", "relative", None])
def test_they_are_what_platformdirs_says(monkeypatch: pytest.MonkeyPatch, data: str | None, home: str | None) -> None:
    for name, value in (("XDG_DATA_HOME", data), ("XDG_CONFIG_HOME", data), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert default_database() == str(platformdirs.user_data_path(NAME, appauthor=False) / "tasks.db")
    assert default_configuration() == str(platformdirs.user_config_path(NAME, appauthor=False) / "config.toml")
