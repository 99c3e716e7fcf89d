"""Theme files: what is wrong with one is told by its line, and breaks nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.theme import Theme

from tests.tui.painting.theme_lab import THEMES
from tui_tasks.tui.painting import styles, theme_file

GOOD = """\
name = "mine"
dark = false

[colors]
primary = "#0000ff"
foreground = "black"
background = "#fff"

[states]
pending = "#123456"
"""


def load(folder: Path, text: str | bytes, name: str = "mine.toml") -> tuple[Theme | None, list[str]]:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found, problems = theme_file.load(folder)
    assert set(found) >= set(THEMES)
    for problem in problems:
        assert problem.path == str(folder / name)
    return found.get("mine"), [f"{problem.line}: {problem.message}" for problem in problems]


def test_one_theme_can_be_had_without_reading_the_others(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    (tmp_path / "nord.toml").write_text("broken")
    found, _ = theme_file.load(tmp_path)
    for name in ("mine", "nord", "dark", "../mine", "none"):
        assert theme_file.find(name, tmp_path) == found.get(name)


def test_a_theme_needs_no_more_than_three_colours(tmp_path: Path) -> None:
    theme, problems = load(tmp_path, GOOD)
    assert problems == []
    assert theme is not None and not theme.dark
    assert theme.variables["state-pending"] == "#123456"
    assert theme.variables["state-in-progress"].lower() == "#0000ff"
    assert set(theme.variables) >= styles.OWN
    assert load(tmp_path, GOOD.replace('name = "mine"', "")) == (theme, []), "it is called after its file"


def test_ones_own_theme_takes_the_place_of_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(GOOD.replace("mine", "nord"))
    found, problems = theme_file.load(tmp_path)
    assert problems == []
    assert found["nord"].variables["state-pending"] == "#123456"
    assert list(found) == list(THEMES)


@pytest.mark.parametrize(
    ("change", "to", "told"),
    [
        ("dark = false", "dark = maybe", "2: Invalid value (at line 2, column 8)"),
        ('pending = "#123456"', 'pending = "#12', "10: "),
        ('name = "mine"', 'name = "No Good"', "1: a name has small letters"),
        ('name = "mine"', 'name = "mine', "1: Illegal character"),
        ('primary = "#0000ff"', "", "4: [colors] needs primary"),
        ("[colors]", "[colours]", "4: unknown key 'colours'; did you mean 'colors'?"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_line(tmp_path: Path, change: str, to: str, told: str) -> None:
    theme, problems = load(tmp_path, GOOD.replace(change, to))
    assert theme is None
    assert problems[0].startswith(told), problems


@pytest.mark.parametrize(
    ("change", "to", "told"),
    [
        ("dark = false", "dark = 0", "2: dark is true or false"),
        ("dark = false", "drak = false", "2: unknown key 'drak'; did you mean 'dark'?"),
        ('pending = "#123456"', "pending = 7", "10: pending is a string"),
        ('pending = "#123456"', 'pending = "#12345678"', "10: pending: a colour here is opaque"),
        ('pending = "#123456"', 'pending = "ansi_red"', "10: pending: ansi_ colours need ansi = true"),
        (
            'pending = "#123456"',
            'pending = "bleu"',
            "10: pending: failed to parse 'bleu' as a color; did you mean 'blue'?",
        ),
        ('pending = "#123456"', 'pendign = "#123456"', "10: unknown key 'pendign'; did you mean 'pending'?"),
        ("[states]", "[[states]]", "9: states is a table: [states]"),
        ("[states]", '[variables]\nscrollbar = "}"\n[states]', "10: scrollbar: failed to parse '}' as a color"),
        ("[states]", '[variables]\nfooter-background = "auto 9%"\n[states]', "10: footer-background: failed to parse"),
        ("[states]", '[variables]\nlink-style = "on fire"\n[states]', "10: link-style: a text style"),
        ("[states]", '[variables]\nprimray-muted = "red"\n[states]', "10: unknown key 'primray-muted'; did you mean"),
        ("[states]", '[parts]\n"rule"   = ""\n[states]', "10: rule: failed to parse '' as a color"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_with_its_line_and_left_out(
    tmp_path: Path, change: str, to: str, told: str
) -> None:
    theme, problems = load(tmp_path, GOOD.replace(change, to))
    assert theme is not None
    assert len(problems) == 1, problems
    assert problems[0].startswith(told), problems
    theme.to_color_system().generate()


def test_variables_of_textuals_can_be_set(tmp_path: Path) -> None:
    text = GOOD + '\n[variables]\nborder = "rgb(1, 2, 3) 50%"\ntext = "auto 90%"\nlink-style = "bold not underline"\n'
    theme, problems = load(tmp_path, text)
    assert problems == []
    assert theme is not None
    assert theme.variables["border"] == "rgb(1, 2, 3) 50%"


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\x00", b"\x00", b"[" * 50_000, b"a = 1\n" * 20_000, b"x = " + b"[" * 30_000, b"", b"states = 3"],
    ids=["not text", "NUL", "brackets", "large", "deep", "empty", "no table"],
)
def test_garbage_breaks_nothing(tmp_path: Path, data: bytes) -> None:
    theme, problems = load(tmp_path, data)
    assert theme is None
    assert problems


def test_the_line_of_a_byte_that_is_no_text_is_told(tmp_path: Path) -> None:
    theme, problems = load(tmp_path, GOOD.encode().replace(b"mine", b"mi\xffne"))
    assert theme is None
    assert problems == ["1: not UTF-8"]
    assert load(tmp_path, GOOD.encode() + b"\xff")[1] == ["11: not UTF-8"]


def test_what_is_not_a_file_of_ours_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "gone.toml").symlink_to("nowhere")
    assert theme_file.load(tmp_path) == (THEMES, [])
    assert theme_file.load(tmp_path / "missing") == (THEMES, [])


def test_two_files_of_one_name_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD)
    (tmp_path / "b.toml").write_text(GOOD.replace("#123456", "#654321"))
    found, problems = theme_file.load(tmp_path)
    assert found["mine"].variables["state-pending"] == "#123456"
    assert [str(problem) for problem in problems] == [f"{tmp_path / 'b.toml'}:1: another file here is named 'mine' too"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").symlink_to("/proc/self/mem")
    _, problems = theme_file.load(tmp_path)
    assert [problem.message for problem in problems] == ["cannot be read: Input/output error"]
