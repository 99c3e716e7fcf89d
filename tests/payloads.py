"""Sixty texts of somebody who means harm, and what of a terminal's stream gives them away.

`{m}` in a payload stands for its marker: a word that nothing else on a screen has, so that whatever of it comes out can
be told, with the field that it was in.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import pyte
from rich.cells import cell_len
from wcwidth import wcwidth

_CSI: Final = {
    "CSI, clear the screen": "\x1b[2J\x1b[H{m}",
    "CSI, scroll back": "\x1b[3J\x1b[20T{m}",
    "CSI, cursor up and over": "\x1b[5A\x1b[70D{m}",
    "CSI, save and restore": "\x1b[s{m}\x1b[u",
    "CSI, colours and blink": "\x1b[5;31;44m{m}",
    "CSI, the main screen": "\x1b[?1049l{m}",
    "CSI, no mouse": "\x1b[?1000l\x1b[?1003l{m}",
    "CSI, scroll region": "\x1b[3;5r{m}",
    "CSI, report the cursor": "\x1b[6n\x1b[c\x1b[21t{m}",
    "CSI, resize the window": "\x1b[8;3;10t{m}",
    "CSI, insert and delete lines": "\x1b[9L\x1b[9M{m}",
    "CSI, repeat": "{m}\x1b[9999b",
    "CSI, never ended": "{m}\x1b[38;5;",
    "CSI, many numbers": "\x1b[" + ";".join("9" * 9) + "m{m}",
    "CSI, soft reset": "\x1b[!p{m}",
    "CSI, keyboard protocol": "\x1b[>31u{m}",
}
_STRINGS: Final = {
    "OSC 0, the title": "\x1b]0;{m}\x07",
    "OSC 2, the title by ST": "\x1b]2;{m}\x1b\\",
    "OSC 4, a colour": "\x1b]4;1;#{m}\x07",
    "OSC 7, the folder": "\x1b]7;file:///{m}\x07",
    "OSC 8, a link": "\x1b]8;;https://{m}.example\x1b\\{m}\x1b]8;;\x1b\\",
    "OSC 8, in C1": "\x9d8;;https://{m}.example\x9c{m}\x9d8;;\x9c",
    "OSC 9, a notification": "\x1b]9;{m}\x07",
    "OSC 9;4, progress": "\x1b]9;4;1;50;{m}\x07",
    "OSC 52, the clipboard": "\x1b]52;c;{m}\x07",
    "OSC 777, a notification": "\x1b]777;notify;{m};{m}\x07",
    "OSC 1337, a file": "\x1b]1337;File=name={m};inline=1:QQ==\x07",
    "OSC, never ended": "\x1b]0;{m}",
    "DCS": "\x1bP$q{m}\x1b\\",
    "DCS, sixel": "\x1bPq#0;2;0;0;0{m}\x1b\\",
    "DCS, through tmux": "\x1bPtmux;\x1b\x1b]52;c;{m}\x07\x1b\\",
    "APC, a picture": "\x1b_Gi=1;{m}\x1b\\",
    "PM and SOS": "\x1b^{m}\x1b\\\x1bX{m}\x1b\\",
}
_CONTROLS: Final = {
    "C1, CSI": "\x9b2J\x9b31m{m}",
    "C1, DCS and ST": "\x90q{m}\x9c",
    "C1, all of them": "{m}" + "".join(map(chr, range(0x80, 0xA0))),
    "C0, all of them": "{m}" + "".join(map(chr, range(0x20))) + "\x7f",
    "reset": "\x1bc{m}",
    "character sets": "\x1b(0\x0e{m}\x0f",
    "backspaces": "{m}\b\b\b\b\b\bsafe",
    "carriage return": "{m}\rEVIL",
    "lines of all kinds": "{m}\nb\r\nc\x85d\u2028e\u2029f\vg\fh",
    "tabs": "\t{m}\t\tx",
    "NUL, BEL, DEL": "\x00\x07{m}\x7f",
}
_MARKUP: Final = {
    "markup that quits": "[@click=app.quit]{m}[/]",
    "markup that presses a key": "[@click=app.simulate_key('q')]{m}[/]",
    "markup that acts": "[@click=app.act('quit')]{m}[/][@click=screen.act('delete')]x",
    "markup, a link": "[link=https://{m}.example]{m}[/link]",
    "markup that closes nothing": "[/nope]{m}[/][/]",
    "markup of colours": "[bold red on blue]{m}[/bold red on blue] [$error]",
    "markup, half of it": "[{m}",
    "Rich's emoji": ":skull:{m}:warning:",
    "an f-string": "{{m}} %s %n $m {m} \\{m}",
}
_LETTERS: Final = {
    "bidi": "\u202e{m}\u202c\u2066x\u2069\u200f\u061c",
    "zero width": "{m}\u200b\u200c\u200d\u2060\ufeff\u00adx",
    "tags and variation": "{m}\U000e0041\U000e007f\ufe0f\ufe0e\u20e3",
    "combining": "{m}" + "\u0301\u0316\u0334\u20dd" * 40,
    "wide": "{m}"
    + "数据库迁移👩\u200d👩\u200d👧👍🏽🇩🇪" * 9
    + "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 ru\u200cn",
    "private, not yet, never": "{m}\ue0b0\U000f0000\u0378\uffff\U0010ffff\ufdd0",
}
_LONG: Final = {"a million characters": "{m} " + "\x1b[31m数[@click=app.quit]" * 50_000}

PAYLOADS: Final[dict[str, str]] = {**_CSI, **_STRINGS, **_CONTROLS, **_MARKUP, **_LETTERS, **_LONG}

MIXED: Final = 60
"""The number of a payload that has something of each kind."""
_MIXED: Final = (
    "{m}\x1b[2J\x1b]52;c;{m}\x07\x9b31m\u202e[@click=app.quit]{m}[/nope]\u200b👍🏽\x1b]8;;https://{m}\x1b\\\r\n"
)


def marker(number: int, field: str = "") -> str:
    """The word of one payload in one field: `zq07name`."""
    return f"zq{number:02}{field}"


def text(number: int, field: str, most: int = 1_000_000) -> str:
    """A payload for a field, at most so many characters."""
    payload = [*PAYLOADS.values(), _MIXED][number]
    return payload.replace("{m}", marker(number, field))[:most]


# What the program's own stream is made of.
_TOKEN: Final = re.compile(
    r"\x1b\[(?P<csi>[0-?]*[ -/]*[@-~])"
    r"|\x1b(?P<string>[\]P^_X])(?P<body>[^\x1b\x07\x9c]*)(?:\x07|\x1b\\)"
    r"|(?P<text>[^\x00-\x1f\x7f]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_OWN_CSI: Final = re.compile(
    r"[0-9;:]*m|[0-9;]*H|\?(?:7|25|47|1000|1002|1003|1004|1006|1007|1015|1016|1049|2004|2026|2031|2048)[hl]"
    r"|\?(?:2026|2048|2031)\$p|\?u|>[0-9]+u|<u|\?996n|[0-9]*[JK]|>q|c|16t|14t|18t"
)
_OWN_STRINGS: Final = re.compile(r"22;[a-z-]*|52;c;[A-Za-z0-9+/=]*|(?:0|2|9|777);[^\x00-\x1f\x7f-\x9f]*")
_HARMFUL: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# A non-joiner between two letters of a script that needs it, of no width in any table.
_WITHIN_WORDS: Final = re.compile("(?<=[\u0620-\u06d3])\u200c(?=[\u0620-\u06d3])")
_LINE_ENDS: Final = "\r\n"


@dataclass(frozen=True)
class Leak:
    """Something in a stream that the program never writes by itself."""

    what: str
    near: str


def leaks(raw: bytes | bytearray, *, told: bool = False) -> list[Leak]:
    """What a program on a terminal has let through; nothing when all is its own.

    `told`: it notifies or names its window, with the words of agents made safe; otherwise no marker is in any string.
    """
    stream = raw.decode("utf-8", "surrogateescape")
    found = []
    for token in _TOKEN.finditer(stream):
        wrong = _wrong(token, told=told)
        if wrong:
            found.append(Leak(wrong, stream[max(0, token.start() - 60) : token.end() + 60]))
    return found


def _wrong(token: re.Match[str], *, told: bool) -> str:
    kind, held = token.lastgroup, token[0]
    if kind == "csi":
        return "" if _OWN_CSI.fullmatch(token["csi"]) else f"the sequence CSI {token['csi']}"
    if kind == "body":
        if token["string"] != "]" or not _OWN_STRINGS.fullmatch(token["body"]):
            return f"the string {token['string']}{token['body'][:60]}"
        return "" if told or "zq" not in token["body"] else f"a marker in the string {token['body'][:60]}"
    if kind == "text":
        return _wrong_text(held)
    return "" if held in _LINE_ENDS else f"the control character {held!r}"


def _wrong_text(held: str) -> str:
    marks = 0
    for char in _WITHIN_WORDS.sub("", held):
        if unicodedata.category(char) in _HARMFUL or 0xFE00 <= ord(char) <= 0xFE0F:
            return f"the character U+{ord(char):04X}"
        width = wcwidth(char)
        if width != cell_len(char):
            return f"U+{ord(char):04X}, on whose width tables disagree"
        marks = marks + 1 if width == 0 else 0
        if marks > 3:
            return "more than three marks on a character"
    return ""


def spills(screen: pyte.Screen, rule: str = "─") -> list[str]:
    """Lines on a screen whose divider does not stand below its tee: something before it was wider than it was told."""
    cells = [[screen.buffer[row][column].data for column in range(screen.columns)] for row in range(screen.lines)]
    found = []
    for row, line in enumerate(cells):
        for column in (at for at, char in enumerate(line) if char == "┬" and line.count(rule) > len(line) // 2):
            for below in range(row + 1, len(cells)):
                if cells[below][column] in "┴─" or not "".join(cells[below]).strip():
                    break
                # A dialog may lie over the pane, and the rule still be seen.
                if cells[below][column] != "│" and "│" in cells[below]:
                    found.append(f"row {below}, column {column}: {''.join(cells[below])}")
    return found
