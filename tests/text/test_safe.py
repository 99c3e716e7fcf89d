"""What agents wrote becomes text that does nothing but be read."""

from __future__ import annotations

import functools
import subprocess
import sys
import time
import unicodedata
from datetime import UTC, datetime
from typing import Literal, get_args
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from wcwidth import wcswidth

from tests.started import DEADLINE
from tui_tasks.core import vocab
from tui_tasks.dialects import scheduler
from tui_tasks.text import glyphs, output_lines, safe, times, word_cuts
from tui_tasks.tui.widgets import screen_bases as contents

PAYLOADS = {
    "OSC 52, the clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "OSC 8, a link": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "OSC 0, the title": "\x1b]0;owned\x07",
    "CSI, clear": "\x1b[2J\x1b[H\x1b[31m",
    "DCS": "\x1bP1$r0m\x1b\\",
    "APC and PM": "\x1b_Gi=1;\x1b\\\x1b^x\x1b\\",
    "C1 controls": "\x9b2J\x9d52;c;AA\x9c\x90q\x9c",
    "reset": "\x1bc",
    "backspace and return": "safe\x08\x08\x08\x08evil\rEVIL",
    "NUL, BEL, DEL": "\x00\x07\x7f",
    "markup that presses a key": "[@click=app.simulate_key('y')]Yes[/]",
    "markup that closes nothing": "[/nope]",
    "bidi": "\u202eexe.cod\u202c\u2066x\u2069\u200f\u061c",
    "tags": "\U000e0041\U000e0042\U000e007f",
    "zero width": "pass\u200bw\u200co\u200dr\u2060d\ufeff",
    "surrogates": "\ud83d\udcff",
    "noncharacters": "\ufdd0\uffff\U0010ffff",
    "private use": "\ue0b0\U000f0000",
    "lines of all kinds": "a\nb\r\nc\x85d\u2028e\u2029f\rg\vh\fi",
    "a family": "👨\u200d👩\u200d👧\u200d👦",
    "a skin tone": "👍🏽",
    "a flag": "🇩🇪🇫🇷",
    "a flag of tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "keycaps": "1\ufe0f\u20e3#\ufe0f\u20e3",
    "an emoji by selector": "❤\ufe0f☎\ufe0f",
    "zalgo": "e" + "\u0301\u0316\u0334" * 50,
    "marks with nothing to stand on": "\u0301\u0301abc\n\u0301def",
    "wide": "数据库迁移到新的服务器" * 9,
    "vowels with nothing to stand on": "\u1161\u1161" + "\u1100" + "\u1161" * 50,
    "fillers": "\u3164\u115f\u1160\uffa0",
    "spaces": "a\u00a0b\u2003c\u3000d\u202fe",
}
FORBIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@functools.cache
def each_character() -> list[str]:
    """Each character there is; of the 960,000 of private use or without a meaning, whose treatment is one, a sample."""
    return [
        char
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(char := chr(code)) not in ("Cn", "Co") or code % 61 == 0 or code % 0x10000 > 0xFFF0
    ]


hostile = st.one_of(
    st.text(),
    st.text(alphabet=st.characters()),
    st.text(alphabet="ab\x1b\x9b\r\n\t\x7f\u0301\u0316é数👍🏽\u200d\ufe0f\u20e3\u202e🇩\u3164 \u3000\u1160\ud800"),
    st.text(alphabet="a\u0645\u06cc\u0915\u094d\u064e\u200c\u200d\u200b \n"),
    st.sampled_from(sorted(PAYLOADS.values())),
)


def longest_run_of_marks(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char != "\n" and cell_len(char) == 0 else 0
        longest = max(longest, run)
    return longest


def assert_harmless(text: str) -> None:
    for at, char in enumerate(text):
        is_within_a_word = char == "\u200c" and 0 < at < len(text) - 1 and safe._joins(text[at - 1], text[at + 1])
        assert unicodedata.category(char) not in FORBIDDEN or char == "\n" or is_within_a_word, (hex(ord(char)), text)
        assert not 0xFE00 <= ord(char) <= 0xFE0F, text
        assert not 0x1F3FB <= ord(char) <= 0x1F3FF, text
        assert char != "\u20e3", text
    assert longest_run_of_marks(text) <= 3
    for line in text.split("\n"):
        assert not line or unicodedata.category(line[0])[0] != "M", "a mark would fall on the neighbour"


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
@pytest.mark.parametrize("limit", [None, 40, 7, 2, 1, 0])
def test_no_payload_comes_through_a_line(payload: str, limit: int | None) -> None:
    shown = safe.safe_line(payload, limit)
    assert_harmless(shown)
    assert "\n" not in shown
    assert limit is None or cell_len(shown) <= limit


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_no_payload_comes_through_many_lines(payload: str) -> None:
    assert_harmless(safe.safe_text(payload))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
@pytest.mark.parametrize("one_line", [False, True])
def test_no_payload_comes_through_a_copy(payload: str, one_line: bool) -> None:
    copied = safe.safe_copy(payload, one_line=one_line)
    assert_harmless(copied)
    assert not one_line or "\n" not in copied


def test_all_of_a_text_is_copied_and_what_is_harmless_stays() -> None:
    whole = "Zürich, 数据\n\tindented\n" * 5_000
    assert safe.safe_copy(whole) == whole
    assert safe.safe_copy(f"{whole}\x1b") == f"{whole}␛"
    assert safe.safe_copy("a\nb\tc", one_line=True) == "a b c"


@given(hostile, st.one_of(st.none(), st.integers(-1, 80)))
@settings(max_examples=500)
def test_a_line_is_harmless_fits_and_stays_the_same_when_made_safe_again(text: str, limit: int | None) -> None:
    shown = safe.safe_line(text, limit)
    assert_harmless(shown)
    assert "\n" not in shown
    assert limit is None or cell_len(shown) <= max(limit, 0)
    assert safe.safe_line(shown, limit) == shown


@given(hostile, st.integers(0, 60))
@example("ab\tcd", 4)
@settings(max_examples=500)
def test_many_lines_are_harmless_fit_and_stay_the_same_when_made_safe_again(text: str, limit: int) -> None:
    shown = safe.safe_text(text, limit)
    assert_harmless(shown)
    assert len(shown) <= limit
    assert safe.safe_text(shown, limit) == shown


@given(hostile, st.integers(0, 40), st.sampled_from(["left", "right"]))
def test_a_column_is_filled_to_the_cell(text: str, cells: int, align: Literal["left", "right"]) -> None:
    assert cell_len(safe.fit(text, cells, align)) == cells


def test_no_character_at_all_stands_for_a_harmful_one() -> None:
    for char in each_character():
        what = safe._stands_for.__wrapped__(char)
        shown = char if what == safe._MARK else what
        assert shown in ("", "\n") or unicodedata.category(shown) not in FORBIDDEN, hex(ord(char))


def test_the_quick_check_agrees_with_the_slow_look_at_every_character() -> None:
    for char in each_character():
        if safe._is_ordinary(char):
            assert safe._stands_for(char) == char, hex(ord(char))


def test_every_character_that_takes_no_cell_counts_as_a_mark_or_goes() -> None:
    for char in each_character():
        if cell_len(char) == 0:
            shown = safe.safe_line(f"a{char * 9}")
            assert cell_len(shown) == 1 + shown.count("\ufffd") + sum(0x2400 <= ord(c) <= 0x2421 for c in shown) + (
                shown.count(" ")
            ), hex(ord(char))
            assert len(shown) <= 10
            assert longest_run_of_marks(shown) <= 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ASCII [b]stays[/b]", "plain ASCII [b]stays[/b]"),
        ("Größe, žluťoučký, Ελλάδα, Привет", "Größe, žluťoučký, Ελλάδα, Привет"),
        ("नमस्ते עברית عربي 한국어", "नमस्ते עברית عربي 한국어"),
        ("e\u0301", "e\u0301"),
        ("\x1b]52;c;QQ==\x07", "␛]52;c;QQ==␇"),
        ("\x7f", "␡"),
        ("\x9b", "\ufffd"),
        ("a\u202eb", "a\ufffdb"),
        ("pass\u200bword", "password"),
        ("a\tb\nc\r\nd", "a b c d"),
        ("a\rb", "a␍b"),
        ("👨\u200d👩\u200d👧", "👨👩👧"),
        ("👍🏽", "👍"),
        ("🇩🇪", "DE"),
        ("1\ufe0f\u20e3", "1"),
        ("❤\ufe0f", "❤"),
        ("e" + "\u0301" * 9, "e\u0301\u0301\u0301"),
        # A text of which nothing would be seen, such as a name of blanks, shows what it is made of.
        ("\u3164", "<U+3164>"),
        ("\u2800", "<U+2800>"),
        ("\u200b\u200b", "<U+200B><U+200B>"),
        ("\u3000 ", "<U+3000> "),
        (" ", " "),
        ("\n\u2028", "  "),
        ("", ""),
        ("a\u3000b", "a b"),
        # Within a word of a script that needs it, a non-joiner is drawn; anywhere else it goes.
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u0915\u094d\u200c\u0937", "\u0915\u094d\u200c\u0937"),
        ("\u0645\u06cc\u200c", "\u0645\u06cc"),
        ("\u200c\u0645\u06cc", "\u0645\u06cc"),
        ("\u0645\u200c\u200c\u06cc", "\u0645\u200c\u06cc"),
        ("\u0645\u200ca\u200c\u06cc", "\u0645a\u06cc"),
        ("\u0645\u200c\u0915", "\u0645\u0915"),
        ("ru\u200cn", "run"),
        ("\u0663\u200c\u0663", "\u0663\u0663"),
        ("\u0645\u200c\u200b\u06cc", "\u0645\u06cc"),
    ],
)
def test_a_line_shows(text: str, shown: str) -> None:
    assert safe.safe_line(text) == shown


def test_a_non_joiner_takes_no_cell_and_ends_no_line_that_was_cut() -> None:
    word = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert cell_len(word) == wcswidth(word) == 7
    assert safe.fit(word, 9) == word + "  "
    assert safe.safe_line(word, 3) == "\u0645\u06cc…"
    assert safe.safe_text(word, 4) == "\u0645\u06cc…"


@pytest.mark.parametrize(("word", "cells"), [("हिन्दी", 5), ("বাংলা", 5), ("தமிழ்", 4), ("मराठी", 5)])
def test_a_spacing_mark_takes_a_cell_as_terminals_draw_it(word: str, cells: int) -> None:
    assert safe.cell_len(word) == cell_len(word) == cells >= wcswidth(word)
    assert wcswidth(safe.safe_line(word * 9, 12)) <= 12


def test_a_symbol_whose_width_depends_on_the_terminal_is_not_drawn() -> None:
    assert safe.safe_line("a\u2630b\u3248c\u302ed") == "a\ufffdb\ufffdc\ufffdd"
    assert safe.whole_text("a\u2630b") == "a<U+2630>b"


def test_what_is_decided_about_shows_a_joiner_of_any_script() -> None:
    assert safe.whole_text("ru\u200cn") == "ru<U+200C>n"
    assert safe.whole_text("\u0645\u200c\u06cc \u0915\u094d\u200d\u0937") == (
        "\u0645<U+200C>\u06cc \u0915\u094d<U+200D>\u0937"
    )


def test_many_lines_keep_their_lines_and_columns() -> None:
    assert safe.safe_text("a\r\nb\x85c\u2028d") == "a\nb\nc\nd"
    assert safe.safe_text("a\tb\n\tc") == "a   b\n    c"


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("数据库", 6, "数据库"),
        ("数据库", 5, "数据…"),
        ("数据库", 4, "数…"),
        ("数据库", 2, "…"),
        ("ae\u0301bc", 3, "ae\u0301…"),
        ("abc", 0, ""),
    ],
)
def test_what_is_too_wide_is_cut_between_characters(text: str, cells: int, shown: str) -> None:
    assert safe.safe_line(text, cells) == shown


def test_ascii_only_cuts_with_a_tilde() -> None:
    assert safe.safe_line("abcdef", 4, ascii_only=True) == "abc~"
    assert safe.safe_text("abcdef", 4, ascii_only=True) == "abc~"


def cost(text: str) -> float:
    best = 1.0
    for _ in range(5):
        start = time.thread_time()
        safe.safe_line(text, 60)
        best = min(best, time.thread_time() - start)
    return best


@pytest.mark.parametrize("unit", ["a", "é", "\x1b", "e\u0301", "数"])
def test_a_title_of_a_megabyte_costs_no_more_than_a_long_line(unit: str) -> None:
    huge = unit * (1_000_000 // len(unit))
    assert cell_len(safe.safe_line(huge, 60)) in (59, 60)
    assert len(safe.safe_line(huge)) <= safe.LINE_CHARS
    assert len(safe.safe_text(huge)) == safe.TEXT_CHARS
    assert cost(huge) < 10 * cost(unit * 1000) + 0.001


def test_markup_is_never_interpreted() -> None:
    for payload in ("[@click=app.simulate_key('y')]Yes[/]", "[/nope]", "[b]"):
        content = contents.plain(payload, "$state-done")
        assert content.plain == payload
        assert [(span.start, span.end, span.style) for span in content.spans] == [(0, len(payload), "$state-done")]
        assert contents.block(f"{payload}\n{payload}").plain == f"{payload}\n{payload}"


def test_content_is_made_safe() -> None:
    assert contents.plain("\x1b[2J\x07").plain == "␛[2J␇"
    assert contents.block("\x1b\n\x07").plain == "␛\n␇"


def test_a_command_without_a_screen_imports_neither_textual_nor_rich() -> None:
    code = (
        "import sys; from tui_tasks.text.safe import safe_line, safe_text;"
        "from tui_tasks.text.glyphs import look; from tui_tasks.text.times import age;"
        "safe_line('é\\x1b👍'); safe_text('x'); age(0, 9); look('done');"
        "sys.exit(any(name in sys.modules for name in ('rich', 'textual')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=DEADLINE).returncode == 0


S, M, H, D = times.SECOND, times.MINUTE, times.HOUR, times.DAY


@pytest.mark.parametrize(
    ("elapsed", "age", "ago", "due"),
    [
        (0, "now", "now", "now"),
        (S - 1, "now", "now", "now"),
        (S, "1s", "1s ago", "now"),
        (40 * S, "40s", "40s ago", "now"),
        (M - 1, "59s", "59s ago", "now"),
        (M, "1m", "1m ago", "late 1m"),
        (9 * M + 59 * S, "9m", "9m ago", "late 9m"),
        (3 * H, "3h", "3h ago", "late 3h"),
        (2 * D + 23 * H, "2d", "2d ago", "late 2d"),
        (36 * D, "5w", "5w ago", "late 5w"),
        (800 * D, "2y", "2y ago", "late 2y"),
        (-1, "now", "now", "now"),
        (-S, "in 1s", "in 1s", "in 1s"),
        (-27 * S, "in 27s", "in 27s", "in 27s"),
        (-119 * S, "in 1m", "in 1m", "in 1m"),
        (-(12 * H + 45 * M), "in 12h 45m", "in 12h 45m", "in 12h 45m"),
        (-(2 * 24 * H + 4 * H + M), "in 2d 4h", "in 2d 4h", "in 2d 4h"),
        (-2 * H, "in 2h", "in 2h", "in 2h"),
    ],
)
def test_ages_are_short(elapsed: int, age: str, ago: str, due: str) -> None:
    now = 1_763_755_200 * S
    assert times.age(now - elapsed, now) == age
    assert times.ago(now - elapsed, now) == ago
    assert times.due(now - elapsed, now) == due


@given(st.integers(-400 * D, 400 * D))
@example(364 * D)
@example(-365 * D)
def test_an_age_lasts_just_as_long_as_it_says(elapsed: int) -> None:
    lasts = times.age_lasts(0, elapsed)
    assert lasts > 0
    assert times.age(0, elapsed + lasts - 1) == times.age(0, elapsed)
    assert times.age(0, elapsed + lasts) != times.age(0, elapsed)


@pytest.mark.parametrize(
    ("span", "shown", "in_one_unit"),
    [
        (-5, "0ms", "0ms"),
        (340_000, "340ms", "340ms"),
        (41 * S, "41s", "41s"),
        (65 * S, "1m 05s", "1m"),
        (38 * M, "38m 00s", "38m"),
        (2 * H + 5 * M, "2h 05m", "2h"),
        (3 * D + 4 * H, "3d 4h", "3d"),
        (40 * D, "40d 0h", "40d"),
    ],
)
def test_durations(span: int, shown: str, in_one_unit: str) -> None:
    assert times.duration(span) == shown
    assert times.duration(span, 1) == in_one_unit


def instant(at: str) -> int:
    return int(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()) * S


def test_clocks_show_the_zone_asked_for_across_a_change_of_clocks() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert times.clock(instant("2026-03-29T00:59"), berlin) == "01:59"
    assert times.clock(instant("2026-03-29T01:00"), berlin) == "03:00"
    assert times.clock(instant("2026-11-22T07:00:05") + 999_999, berlin, seconds=True) == "08:00:05"
    assert times.moment(instant("2026-11-22T07:00"), berlin) == "Sun 22 Nov 08:00"


@pytest.mark.parametrize("far", [2**63 - 1, -(2**63)])
def test_an_instant_outside_the_calendar_breaks_nothing(far: int) -> None:
    assert times.clock(far, UTC) == "--:--"
    assert times.clock(far, UTC, seconds=True) == "--:--:--"
    assert times.moment(far, UTC) == "--"
    assert times.age(far, 0)


def test_a_number_stands_with_its_noun() -> None:
    assert times.count(1, "task") == "1 task"
    assert times.count(1_000_000, "task") == "1,000,000 tasks"
    assert times.count(2, "entry", "entries") == "2 entries"
    assert times.size(1_400_000) == "1.4 MB"


def test_every_state_of_the_core_has_a_look() -> None:
    for state in (*vocab.STATUSES, *get_args(scheduler.State), "success", "error", "interrupted"):
        assert state in glyphs.LOOKS


def test_looks_are_told_apart_without_colour_in_one_cell() -> None:
    tasks = ["pending", "in_progress", "needs_you", "blocked", "done", "failed", "skipped", "overdue"]
    assert [glyphs.look(name).glyph for name in tasks] == list("○◐?⊘✓✗–!")
    for choice in (
        {look.mark() for look in map(glyphs.look, tasks)},
        {glyphs.look(s).mark(ascii_only=True) for s in tasks},
    ):
        assert len(choice) == len(tasks)
    for look in glyphs.LOOKS.values():
        assert cell_len(look.glyph) == cell_len(look.letter) == 1
        assert look.letter.isascii()
        assert look.word
    for name in glyphs.SIGNS:
        assert cell_len(glyphs.sign(name)) == cell_len(glyphs.sign(name, ascii_only=True)) == 1
        assert glyphs.sign(name, ascii_only=True).isascii()


def test_a_state_that_is_not_known_is_shown_by_its_own_name_made_safe() -> None:
    assert glyphs.look("paused_\x1b[2J").word == "paused ␛[2J"


@pytest.mark.parametrize(
    ("progress", "cells", "shown"),
    [
        (0.0, 5, "─────"),
        (0.001, 5, "━────"),
        (2 / 9, 9, "━━───────"),
        (0.25, 7, "━──────"),
        (0.69, 10, "━━━━━━────"),
        (0.999, 5, "━━━━─"),
        (1.0, 5, "━━━━━"),
        (7.0, 2, "━━"),
        (-1.0, 2, "──"),
        (float("nan"), 2, "──"),
        (0.5, 0, ""),
        (0.5, -3, ""),
    ],
)
def test_a_bar_is_never_fuller_than_what_is_done_and_full_only_when_all_is(
    progress: float, cells: int, shown: str
) -> None:
    assert glyphs.bar(progress, cells) == shown
    assert glyphs.bar(progress, cells, ascii_only=True) == shown.translate(str.maketrans("━─", "=-"))


def test_names_that_differ_at_their_ends_alone_look_different_where_there_is_little_room():
    one, other = (safe.fit_ends(f"claude-code-worker-{number}", 12) for number in (1, 2))
    assert (one, other) == ("claude…ker-1", "claude…ker-2")
    assert safe.fit_ends("short", 12) == "short       "


@given(hostile)
def test_of_what_a_person_decides_about_nothing_is_hidden(text: str) -> None:
    shown = safe.whole_text(text)
    assert all(unicodedata.category(char) not in FORBIDDEN for char in shown if char != "\n")
    # Every character of the text is there, as itself or by its number; only tabs become spaces.
    at = 0
    for char in text:
        if char == "\t":
            continue
        forms = (char, f"<U+{ord(char):04X}>", chr(0x2400 + ord(char)) if char < " " else "\u2421")
        at = min((found + len(form) for form in forms if (found := shown.find(form, at)) >= 0), default=-1)
        assert at >= 0, (char, shown)


@pytest.mark.parametrize("text", ["", " ", "\u2800", " \u2800\u200b ", "\u3164"])
def test_a_text_of_which_nothing_would_be_seen_is_blank(text: str) -> None:
    assert safe.is_blank(text)
    assert not safe.is_blank(f"{text}x")


def test_braille_without_a_dot_is_a_blank_and_other_braille_stays() -> None:
    assert safe.safe_line("a\u2800\u2800b \u2801") == "a  b \u2801"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("is\u200bAdmin", "is<U+200B>Admin"),
        ("\U000e0041\U000e0042", "<U+E0041><U+E0042>"),
        ("rm\u00a0-rf", "rm<U+00A0>-rf"),
        ("a\u2028b\x85c\r\nd", "a<U+2028>b<U+0085>c␍\nd"),
        ("\u202egnp.exe", "<U+202E>gnp.exe"),
        ("e" + "\u0301" * 4, "e\u0301\u0301\u0301<U+0301>"),
        ("\u0301", "<U+0301>"),
        ("\u3164\u2800", "<U+3164><U+2800>"),
        ("\x1b[2J ␛[2J", "␛[2J <U+241B>[2J"),
        ("👍🏽", "👍<U+1F3FD>"),
        ("plain, naïve, 语言", "plain, naïve, 语言"),
    ],
)
def test_what_has_no_shape_of_its_own_is_written_out(text: str, shown: str) -> None:
    assert safe.whole_text(text) == shown


def test_no_two_characters_look_the_same_where_a_person_decides() -> None:
    shown: dict[str, str] = {}
    for char in each_character():
        if char != "\t":
            assert shown.setdefault(safe.whole_text(f"a{char}b"), char) == char


_SUMMARY = "FAILED tests/test_auth.py::test_login - assert 401 == 200"


def test_a_failure_is_said_once_and_the_other_lines_of_its_output_stay() -> None:
    output = (
        ">   assert wall == '02:30'\nE   AssertionError: assert '03:30' == '02:30'\nE    +  where x\n"
        "FAILED tests/test_dates.py::test_gap - assert '03:30' == '02:30'\n"
        "FAILED tests/test_dates.py::test_year - assert 1 == 2\n2 failed in 1.12s\n"
    )
    place, reason, rest = output_lines.said_once(output)
    assert (place, reason) == ("tests/test_dates.py::test_gap +1 more", "assert '03:30' == '02:30'")
    assert rest == [
        ">   assert wall == '02:30'",
        "E    +  where x",
        "FAILED tests/test_dates.py::test_year - assert 1 == 2",
        "2 failed in 1.12s",
    ]
    assert output_lines.said_once("FAILED\nno") == ("", "", ["FAILED", "no"])


@pytest.mark.parametrize(
    ("output", "named"),
    [
        (f"E   assert 401 == 200\n{_SUMMARY}\n1 failed, 1 passed in 0.31s\n", "test_login: assert 401 == 200"),
        (f"{_SUMMARY}\nFAILED tests/test_b.py::test_x\n2 failed in 1s", "test_login +1 more: assert 401 == 200"),
        ("FAILED tests/test_b.py::TestB::test_x[a - b]\n1 failed in 1s", "TestB::test_x[a - b]: 1 failed in 1s"),
        ("FAILED tests/test_b.py::test_x\n1 failed in 1s", "test_x: 1 failed in 1s"),
        ("1 failed, 1 passed in 0.31s\n", ""),
        ("FAILED: test_x\nFAILED test_x\nit FAILED tests/test_b.py::test_x\nFAILED a b::c", ""),
    ],
)
def test_a_failed_test_is_named_where_pytest_names_it_and_never_guessed(output: str, named: str) -> None:
    assert output_lines.failed_test(output) == named
    assert output_lines.check_failure(output) == (named or output_lines.telling_line(output))


def test_a_failed_check_says_what_pytest_drew_as_raised_last_before_its_summary() -> None:
    first = ">       assert 1 == 2\nE       assert 1 == 2\n\ntests/test_a.py:3: AssertionError\n"
    last = "E       AssertionError: no\nE       assert 403 == 200\nE        +  where 403 = get()\n1 failed in 0.31s\n"
    assert output_lines.check_failure(first + last) == "AssertionError: no"
    assert output_lines.check_failure(first + "1 failed in 0.31s\n") == "assert 1 == 2"
    assert output_lines.check_failure("E\n1 failed") == "1 failed"


@pytest.mark.parametrize(
    ("cells", "cut"),
    [
        (45, "jose is maintained but heavier; … Which one?"),
        (44, "jose is maintained but heavier; … Which one?"),
        (43, "jose is maintained but … Which one?"),
        (40, "jose is maintained but … Which one?"),
        (24, "jose is … Which one?"),
        (16, "… Which one?"),
        (12, "Which one?"),
        (8, "Which o…"),
    ],
)
def test_a_question_is_cut_in_the_middle_and_keeps_its_last_sentence(cells: int, cut: str) -> None:
    asked = "jose is maintained but heavier; pyjwt is in the lockfile. Which one?"
    assert word_cuts.safe_question(asked, cells) == cut
    assert word_cuts.safe_question(asked, 80) == asked


def test_a_question_is_cut_within_a_word_where_none_ends_near_and_with_ascii_by_a_tilde() -> None:
    assert word_cuts.safe_question(f"{'a' * 90}. Which one?", 40) == f"{'a' * 28}… Which one?"
    asked = "jose is maintained but heavier; pyjwt is in the lockfile. Which one?"
    assert word_cuts.safe_question(asked, 24, ascii_only=True) == "jose is ~ Which one?"


DROP = "May I drop the table sessions_old (3.1 M rows)? It cannot be undone without the backup of last night."


@pytest.mark.parametrize(
    ("asked", "cells", "cut"),
    [
        (DROP, 60, "May I drop the table sessions_old (3.1 M rows)? It cannot b…"),
        (DROP, 30, "May I drop the table sessions…"),
        ("It is used in three files. · rename it to `total`?", 28, "… rename it to `total`?"),
        (f"Two are left. {DROP}", 58, "Two … May I drop the table sessions_old (3.1 M rows)? …"),
        (f"Two are left. {DROP}", 50, "… May I drop the table sessions_old (3.1 M rows)?…"),
        (f"Two are left. {DROP}", 32, "… May I drop the table sessions…"),
        (
            f"All is read. Do you object, Mr. Smith, if I drop {'all ' * 9}tables?",
            44,
            "… Do you object, Mr. Smith, if I drop all a…",
        ),
        (
            "May I not drop e.g. Users and Roles at 5 p.m. today for good?",
            40,
            "May I not drop e.g. Users and Roles at …",
        ),
        ("Never run: rm -rf / on the host of the customers now?", 40, "Never run: rm -rf / on the host of the …"),
        ("一切都好。可以删除旧的数据库表吗？不能撤销，备份也没有。", 30, "… 可以删除旧的数据库表吗？不…"),
        ("Approve: do not delete the old property of last night", 40, "Approve: do not delete the old property…"),
    ],
)
def test_a_cut_question_never_loses_the_beginning_of_what_it_asks(asked: str, cells: int, cut: str) -> None:
    assert word_cuts.safe_question(asked, cells) == cut


def test_a_cut_question_is_never_wider_than_its_room() -> None:
    for cells in range(1, 60):
        for asked in ("描述" * 20 + "? 确定吗", "Bash: rm -rf build/ && make all && make install", "a" * 90, "? " * 40):
            assert cell_len(word_cuts.safe_question(asked, cells)) <= cells
