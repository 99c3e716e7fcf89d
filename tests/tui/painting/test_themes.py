"""Themes come from files, can be read by everyone, and break nothing when a file is broken."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from textual.color import Color
from textual.design import ColorSystem
from textual.theme import BUILTIN_THEMES, Theme

from tests.tui import idle
from tests.tui.painting.theme_lab import PROBLEMS, THEMES, Rows, Wardrobe
from tests.tui.plan import Plan
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.painting import styles, theme_file
from tui_tasks.tui.painting.styles import NEW, StyleCache

COLOURED = [name for name, theme in THEMES.items() if not theme.ansi]


STATES = tuple(f"state-{state}" for state in styles.STATES)


# Every pair that is drawn as text: what our panes write, on every ground of theirs, and what Textual's widgets write.
GROUNDS = ("background", "surface", "panel", "cursor-background", "focused")


OURS = (
    *(name for name in styles.COLORS if name not in GROUNDS),
    "muted",
    "key",
    "changed",
    "urgent",
    "cursor-text",
)


ROLES = ("text-primary", "text-secondary", "text-accent", "text-success", "text-warning", "text-error")


PAIRS = (
    *itertools.product((*OURS, *STATES), GROUNDS),
    *itertools.product(ROLES, ("background", "surface", "panel", "panel-lighten-1")),
    *itertools.product(("text-muted", "text-disabled", "link-color"), ("background", "surface", "panel", "focused")),
    ("foreground", "panel-lighten-1"),
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("screen-selection-foreground", "screen-selection-background"),
    ("footer-foreground", "footer-background"),
    ("footer-key-foreground", "footer-background"),
    ("footer-description-foreground", "footer-background"),
    ("link-color-hover", "link-background-hover"),
    ("foreground", "block-hover-background"),
    *(("button-color-foreground", ground) for ground in ("primary", "success", "warning", "error")),
)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours, from 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(color: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def palette(theme: Theme) -> dict[str, Color]:
    """Return every variable of a theme that is a colour, as the app would have it."""
    values = theme.to_color_system().generate() | theme.variables
    colors = {}
    for name, value in values.items():
        if value.startswith(("#", "ansi_")):
            colors[name] = Color.parse(value.split()[0])
    # Inputs and lists with the focus are tinted.
    colors["focused"] = (
        colors["surface"].tint(colors["foreground"].with_alpha(0.05)) if not theme.ansi else Color(0, 0, 0)
    )
    return colors


def test_the_shipped_themes_are_whole() -> None:
    assert PROBLEMS == []
    assert next(iter(THEMES)) == theme_file.DEFAULT
    assert {"dark", "light", "high-contrast-dark", "high-contrast-light", "ansi"} < set(THEMES)
    assert {"okabe-ito-dark", "okabe-ito-light", "tokyo-night", "gruvbox", "nord"} < set(THEMES)
    assert {theme.dark for theme in THEMES.values()} == {True, False}
    for name, theme in THEMES.items():
        assert theme.name == name
        assert set(theme.variables) >= styles.OWN


@pytest.mark.parametrize("name", COLOURED)
def test_text_has_the_contrast_that_wcag_asks_for(name: str) -> None:
    colors = palette(THEMES[name])
    least = 7.0 if name.startswith("high-contrast") else 4.5
    weak = []
    for text, ground in PAIRS:
        assert colors[ground].a == 1, ground
        ratio = contrast(colors[ground] + colors[text], colors[ground])
        # What Textual derives by itself is held to AA in every theme.
        if ratio < (4.5 if text in ROLES or text.startswith("button") else least):
            weak.append((text, ground, round(ratio, 2)))
    assert weak == []


@pytest.mark.parametrize("name", COLOURED)
def test_rules_and_bars_can_be_seen_and_states_differ(name: str) -> None:
    colors = palette(THEMES[name])
    least = 3.0 if name.startswith("high-contrast") else 1.4
    assert contrast(colors["rule"], colors["background"]) >= least
    assert contrast(colors["panel"], colors["background"]) >= 1.1
    assert len({colors[state].hex for state in STATES}) == len(STATES)


@pytest.mark.parametrize("name", COLOURED)
def test_large_surfaces_are_dimmer_than_text_and_can_be_seen(name: str) -> None:
    theme = THEMES[name]
    colors, styles = palette(theme), StyleCache(theme.to_color_system().generate() | theme.variables)
    for color in ("primary", "state-done"):
        bright, dim = (Color.from_rich_color(styles.style(f"{sign}{color}").color) for sign in "$~")
        least = 3.0 if name.startswith("high-contrast") else 2.5
        assert least <= contrast(dim, colors["background"]) < contrast(bright, colors["background"])


@pytest.mark.parametrize("name", COLOURED)
def test_the_mark_of_what_is_new_is_as_bright_as_text(name: str) -> None:
    theme = THEMES[name]
    mark = StyleCache(theme.to_color_system().generate() | theme.variables).style(NEW).color
    least = 7.0 if name.startswith("high-contrast") else 4.5
    assert contrast(Color.from_rich_color(mark), palette(theme)["background"]) >= least


# Machado, Oliveira and Fernandes (2009), full severity, on linear light.
VISION = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def lab_as_seen(color: Color, vision: str) -> tuple[float, float, float]:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    seen = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear, strict=True)))) for row in VISION[vision]]
    to_xyz = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.072175), (0.0193339, 0.119192, 0.9503041))
    xyz = [sum(a * b for a, b in zip(row, seen, strict=True)) for row in to_xyz]
    x, y, z = (
        ratio ** (1 / 3) if ratio > 216 / 24389 else (24389 / 27 * ratio + 16) / 116
        for ratio in (xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("name", ["okabe-ito-dark", "okabe-ito-light"])
def test_the_colour_blind_themes_keep_the_states_apart(name: str, vision: str) -> None:
    colors = palette(THEMES[name])
    for one, other in itertools.combinations(STATES, 2):
        seen = zip(lab_as_seen(colors[one], vision), lab_as_seen(colors[other], vision), strict=True)
        assert sum((a - b) ** 2 for a, b in seen) ** 0.5 >= 10, (one, other)


def test_the_ansi_theme_names_no_colour_but_the_terminals_own() -> None:
    theme = THEMES["ansi"]
    assert theme.ansi
    for name in (*styles.OWN, "foreground", "background", "primary", "accent"):
        value = (theme.to_color_system().generate() | theme.variables)[name]
        assert value.startswith("ansi_") or name in styles.STYLES, name
    # Blue is hard to read on most dark terminals, and bright colours on light ones.
    assert not any("blue" in theme.variables[state] or "bright" in theme.variables[state] for state in STATES)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast(Color.parse("#000"), Color.parse("#fff")) == 21
    assert contrast(Color.parse("#fff"), Color.parse("#fff")) == 1
    assert round(contrast(Color.parse("#777777"), Color.parse("#ffffff")), 2) == 4.48


def test_every_theme_can_be_put_on_while_running_and_colours_the_panes() -> None:
    async def story(app: Wardrobe) -> None:
        async with app.run_test(size=(40, 60)) as pilot:
            assert set(app.themes.names) == set(THEMES)
            assert app.theme == theme_file.DEFAULT
            rows = app.query_one(Rows)
            for name, theme in THEMES.items():
                app.theme = name
                await pilot.pause()
                await pilot.pause()
                wanted = {state: Color.parse(theme.variables[f"state-{state}"]).rich_color for state in styles.STATES}
                for y, state in enumerate(styles.STATES):
                    first, age = list(rows.render_line(y))[:2]
                    assert first.style is not None and first.style.color == wanted[state], (name, state)
                    assert age.style is not None
                    assert age.style.color == Color.parse(theme.variables["muted"]).rich_color
                    content = next(iter(rows.as_content(state)))
                    assert content.style is not None and content.style.color == wanted[state], (name, state)
                ground = next(iter(rows.render_line(1))).style
                assert ground is not None
                assert ground.bgcolor == Color.parse(theme.variables["cursor-background"]).rich_color

    idle.run(story(Wardrobe()))


def test_no_color_leaves_the_terminal_its_own_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def story(app: Wardrobe) -> None:
        async with app.run_test(size=(40, 60)):
            assert app.theme == theme_file.NO_COLOR
            for strip in app.screen._compositor.render_strips():
                for segment in strip.apply_filter(app._filters[-1], Color(0, 0, 0)):
                    for color in (segment.style and segment.style.color, segment.style and segment.style.bgcolor):
                        assert not color or color.is_default, segment

    idle.run(story(Wardrobe(ansi_color=True)))


def test_an_empty_no_color_asks_for_nothing(
    plan: Plan, make_app: Callable[..., TaskApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    app = make_app(plan.path)
    assert not app.no_color
    assert app.theme != theme_file.NO_COLOR


def test_every_variable_is_there_before_any_theme_is_and_costs_no_colour_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(ColorSystem, "generate")
    styles.variable_defaults.cache_clear()
    assert set(styles.variable_defaults()) == styles.OWN


def test_each_shipped_file_says_what_it_is() -> None:
    assert all(file.read_text().startswith("# ") for file in theme_file.shipped_folder().iterdir())


@pytest.mark.parametrize("name", [*THEMES, *(name for name in BUILTIN_THEMES if name not in THEMES)])
def test_what_is_urgent_is_never_green(name: str) -> None:
    theme = THEMES.get(name) or styles.complete(BUILTIN_THEMES[name])
    urgent = theme.variables["urgent"]
    if urgent.startswith("ansi_"):
        assert "green" not in urgent
        assert "cyan" not in urgent
        return
    color = Color.parse(urgent)
    hue = color.hsl.h * 360
    assert color.hsl.s <= 0.1 or not 70 <= hue <= 190, (urgent, hue)


@pytest.mark.parametrize("name", COLOURED)
def test_the_colour_of_keys_is_for_keys(name: str) -> None:
    colors = palette(THEMES[name])
    assert colors["key"].hex not in {colors[other].hex for other in ("changed", "urgent", "muted", "foreground")}
