"""The human's settings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tui_tasks import config


def test_a_missing_file_is_as_good_as_an_empty_one(tmp_path: Path) -> None:
    assert config.load(tmp_path / "config.toml") == (config.Config(), [])


def test_what_is_right_holds_beside_what_is_wrong_and_each_fault_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('ascii = true\nquiet_after = "soon"\nbogus = 1\n\n[keys]\ntask-new = "x"\n')
    settings, problems = config.load(file)
    assert settings.ascii
    assert settings.keys == {"task-new": "x"}
    assert settings.quiet_after == config.Config().quiet_after
    assert [(problem.line, problem.message.split(":")[0]) for problem in problems] == [
        (2, "quiet_after"),
        (3, "no setting bogus; `tui-tasks config` lists them"),
    ]


def test_a_file_that_is_no_toml_is_told_with_its_line_and_everything_is_at_its_default(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("ascii = true\nbell = = 1\n")
    settings, (problem,) = config.load(file)
    assert settings == config.Config()
    assert problem.line == 2
    assert str(problem).startswith(f"{file}:2: ")


def test_a_file_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"theme = '\xff'\n")
    settings, problems = config.load(file)
    assert settings == config.Config()
    assert "cannot be read" in problems[0].message


def test_every_setting_is_described_with_its_meaning_and_default(tmp_path: Path) -> None:
    told = config.describe(tmp_path / "config.toml", config.Config(ascii=True))
    assert "ascii = true" in told
    for field in msgspec.structs.fields(config.Config):
        meaning = told.split(f"\n{field.name} = ")[0].splitlines()[-1]
        assert meaning.startswith("# ")
        assert "Default: " in meaning
        assert len(meaning) > len("# Default: ") + 10
