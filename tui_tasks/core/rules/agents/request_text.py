"""Requests and questions as text that a person decides about: a command, a tool and its whole input, options.

Nothing is left out, and no two texts look the same; `unhidden_text` hides nothing of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.unhidden_text import file_lines, prose_lines, unhidden_line, unhidden_lines
from tui_tasks.core.vocab import SHELL

MAX_TEXT: Final = 100_000
MAX_OPTIONS: Final = 9
"""Each is chosen by a key of its own."""
MAX_OPTION: Final = 500
ALLOW: Final = "Allow"
ALWAYS: Final = "Allow always"
DENY: Final = "Deny"

# The names under which programs give a text that is replaced, and the text that replaces it.
_OLD: Final = frozenset({"old_string", "old_str", "oldString", "oldText"})
_NEW: Final = frozenset({"new_string", "new_str", "newString", "newText"})
_PATCHES: Final = ("diff", "patch")
# The names of the text of a file.
_CONTENTS: Final = frozenset({"content", "contents", "file_text", "new_source"})
# Lines of the old text times lines of the new one: a comparison of more takes too long.
_MOST_COMPARED: Final = 100_000
_PATCH: Final = re.compile(r"\*\*\* Begin Patch|Index: |diff --git |--- |@@ ")
# No line of a value and no mark of a screen looks like such a name.
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_$@][A-Za-z0-9_$@/-]*")
_JSON_START: Final = re.compile(r'["\[{tfn0-9-]')
_BAR: Final = "\u2502 "
_INDENT: Final = "  "
_MAX_NESTING: Final = 8

_encode = msgspec.json.Encoder().encode


def request_text(asked: InputRequested) -> str:
    """Return the question as the human reads it."""
    text = _questions(asked) if asked.kind == "question" else _permission(asked)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n… ({len(text) - MAX_TEXT:,} more characters)"


def request_options(asked: InputRequested) -> tuple[str, ...]:
    """Return the answers to choose from. Any other answer to a permission denies it, with that as the reason."""
    if asked.kind == "question":
        return question_options(asked.questions[0]) if len(asked.questions) == 1 else ()
    if asked.tool is None:
        return ()
    suggestions = asked.suggestions if isinstance(asked.suggestions, list) else []
    always = tuple(dict.fromkeys(map(always_text, suggestions)))
    return (ALLOW, *always[: MAX_OPTIONS - 2], DENY)


def is_whole(asked: InputRequested) -> bool:
    """Return whether the question and its options show all that the program asks."""
    suggestions = asked.suggestions if isinstance(asked.suggestions, list) else []
    options = [*map(suggestion_text, suggestions), *(label for one in asked.questions for label in labels(one))]
    is_short = all(len(ALWAYS) + 2 + len(unhidden_line(text)) <= MAX_OPTION for text in options)
    return asked.is_whole and is_short and len(request_text(asked)) <= MAX_TEXT


def is_kept_whole(ask: Ask) -> bool:
    """Return whether a question has all that is asked: nothing was shortened or redacted on the way here."""
    return ask.request is None or ask.request.get("is_whole") is True


def as_kept(ask: Ask) -> InputRequested:
    """Return what a program asked with a question, as far as it is kept."""
    kept = ask.request or {}
    return InputRequested(
        kept.get("kind", "question"),
        kept.get("tool"),
        kept.get("input"),
        kept.get("id"),
        kept.get("suggestions"),
        tuple(one for one in kept.get("questions") or () if isinstance(one, dict)),
        kept.get("note") or "",
        kept.get("is_whole") is True,
    )


def allows(answer: str) -> bool:
    """Return whether an answer to a permission allows the tool; every other answer denies it."""
    return answer == ALLOW or answer.startswith(f"{ALWAYS}: ")


def always_text(suggestion: Any) -> str:
    """Return the option that allows from now on what the program suggests to allow."""
    return f"{ALWAYS}: {unhidden_line(suggestion_text(suggestion))}"[:MAX_OPTION]


def question_text(question: dict[str, Any]) -> str:
    """Return the text of one question."""
    return _prose(plain_text(question.get("question") or question.get("header") or ""))


def ask_lines(ask: Ask) -> list[str]:
    """Return the lines of a question as a person reads it; where they end is no sign, as they are no command's."""
    if is_written_out(ask):
        return ask.question.split("\n")
    return prose_lines(ask.question.strip())


def ask_options(ask: Ask, options: Sequence[str], *, ascii_only: bool = False) -> list[str]:
    """Return the options of a question as a person reads them."""
    if is_written_out(ask):
        return list(options)
    return [unhidden_line(option, is_prose=True, ascii_only=ascii_only) for option in options]


# The words with which a question begins that yes or no answers.
_ASKS_FOR_YES: Final = re.compile(
    r"(shall|should|may|might|can|could|will|would|must|do|does|did|is|are|was|were|has|have|am|ok|okay|sure|approve|allow|confirm)\b"
)
_BEFORE_A_QUESTION: Final = re.compile(r"\A(?:(?:and|but|so|then|or|well|please)\b\W*)+")
_OF_SEVERAL: Final = re.compile(r"\bor\b(?!\s+(?:not|no)\b)")
# In characters. What a long text asks stands at its end.
_END_OF_QUESTION: Final = 1_000


def takes_yes(question: str) -> bool:
    """Return whether yes or no can answer a question without options: it begins with a word such as `shall`, `is` or
    `approve`, perhaps after a comma or a colon, and has no `or`.

    Of several sentences the last one that asks counts; where none asks, the first.
    """
    sentences = re.findall(r"[^.?!;\n]+[?]?", question[-_END_OF_QUESTION:].casefold())
    asking = [one for one in sentences if one.endswith("?")][-1:] or sentences[:1]
    parts = [_BEFORE_A_QUESTION.sub("", part.strip()) for one in asking for part in re.split("[,:]", one)]
    return any(map(_ASKS_FOR_YES.match, parts)) and not any(_OF_SEVERAL.search(one.strip(), 1) for one in asking)


def is_written_out(ask: Ask) -> bool:
    """Return whether a question is kept as it is read: one of an agent program, or of a command at a terminal."""
    return ask.request is not None or ask.agent == SHELL


def _prose(text: str) -> str:
    """Return prose with its lines as they are."""
    return "\n".join(prose_lines(text))


def question_options(question: dict[str, Any]) -> tuple[str, ...]:
    """Return the options of one question that have a key."""
    return tuple(label[:MAX_OPTION] for label in map(unhidden_line, labels(question)[:MAX_OPTIONS]))


def labels(question: dict[str, Any]) -> list[str]:
    """Return the labels of a question's options, as its program wrote them."""
    texts = [one.get("label") if isinstance(one, dict) else one for one in _options(question)]
    return [label for label in texts if isinstance(label, str) and label.strip()]


def _permission(asked: InputRequested) -> str:
    head, *note = _head(asked)
    lines = [head, *(f"{_BAR}{line}" for text in note for line in unhidden_lines(text))]
    for name, text in _values("", asked.input):
        rows = unhidden_lines(text)
        if name and len(rows) == 1:
            lines.append(f"{name}: {rows[0]}")
        else:
            lines += [*([f"{name}:"] if name else []), *(f"{_BAR}{line}" for line in rows)]
    return "\n".join(lines)


def _head(asked: InputRequested, *, ascii_only: bool = False) -> list[str]:
    if asked.tool:
        return [f"Allow {unhidden_line(asked.tool, ascii_only=ascii_only)}?", *([asked.note] if asked.note else [])]
    if asked.note:
        return [f"In its own window: {unhidden_line(asked.note, ascii_only=ascii_only)}"]
    return ["It asks for a permission in its own window."]


def permission_lines(asked: InputRequested, *, ascii_only: bool = False) -> list[tuple[str, str]]:
    """Return the lines of a permission for a screen, each as its sign and the rest; see `unhidden_lines`.

    The sign is `-` of what is removed and `+` of what is added, empty of a head or of a value's name, with the value if
    that is one line, and a space of other lines of a value. So no line of a value looks like a name. A text and the one
    that replaces it are one diff, whose head has a space as no name has.
    """
    head, *note = _head(asked, ascii_only=ascii_only)
    lines = [("", head), *((" ", line) for text in note for line in unhidden_lines(text, ascii_only=ascii_only))]
    values = list(_values("", asked.input))
    replaced = _replaced([name for name, _ in values])
    new = dict(values)
    for name, text in values:
        last = _last_of(name)
        rows = unhidden_lines(text, ascii_only=ascii_only)
        if name in replaced:
            old_lines, new_lines = (file_lines(one, ascii_only=ascii_only) for one in (text, new[replaced[name]]))
            lines += [("", _change_head(name, replaced[name])), *_diff_lines(old_lines, new_lines)]
        elif name in replaced.values():
            continue
        elif last in _OLD or last in _NEW:
            lines += [("", f"{name}:"), *(("-" if last in _OLD else "+", line) for line in rows)]
        elif len(rows) > 1 and (last in _PATCHES or _PATCH.match(text)):
            lines += [("", f"{name}:"), *_patch_lines(file_lines(text, ascii_only=ascii_only))]
        elif len(rows) > 1 and last in _CONTENTS:
            lines += [("", f"{name}:"), *((" ", line) for line in file_lines(text, ascii_only=ascii_only))]
        elif name and len(rows) == 1:
            lines.append(("", f"{name}: {rows[0]}"))
        else:
            lines += [*([("", f"{name}:")] if name else []), *((" ", line) for line in rows)]
    return lines


def _last_of(name: str) -> str:
    return re.split(r"[.\[]", name)[-1]


def _replaced(names: Sequence[str]) -> Mapping[str, str]:
    """Return the names of texts that are replaced, each with the name of the only text that replaces it."""
    pairs: dict[str, tuple[list[str], list[str]]] = {}
    for name in names:
        if (is_new := (last := _last_of(name)) in _NEW) or last in _OLD:
            pairs.setdefault(name.removesuffix(last), ([], []))[is_new].append(name)
    return {old[0]: new[0] for old, new in pairs.values() if len(old) == len(new) == 1}


def _change_head(old: str, new: str) -> str:
    """Return the head of a diff, which tells the names where they are not the usual ones."""
    last, place = (_last_of(old), _last_of(new)), old.removesuffix(_last_of(old))
    if last == ("old_string", "new_string"):
        return f"{place.removesuffix('.')} text changes:".lstrip()
    return f"{place}{last[0]} becomes {last[1]}:"


def _diff_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    """Return the lines of a diff with all that stays, each as its sign and the rest."""
    most = min(len(old), len(new))
    before = next((at for at in range(most) if old[at] != new[at]), most)
    after = next((at for at in range(most - before) if old[-1 - at] != new[-1 - at]), most - before)
    removed, added = old[before : len(old) - after], new[before : len(new) - after]
    lines = [(" ", line) for line in old[:before]]
    if len(removed) * len(added) > _MOST_COMPARED:
        lines += [*(("-", line) for line in removed), *(("+", line) for line in added)]
    else:
        for what, start, end, at, to in SequenceMatcher(None, removed, added, autojunk=False).get_opcodes():
            if what == "equal":
                lines += ((" ", line) for line in removed[start:end])
            else:
                lines += [*(("-", line) for line in removed[start:end]), *(("+", line) for line in added[at:to])]
    return [*lines, *((" ", line) for line in old[len(old) - after :])]


def _patch_lines(text: Sequence[str]) -> Iterator[tuple[str, str]]:
    is_head = True
    for line in text:
        is_head = is_head and not line.startswith("@@")
        is_change = line[:1] in ("-", "+") and not (is_head and line[:3] in ("---", "+++"))
        yield (line[0], line[1:]) if is_change else (" ", line)


def _values(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each value by its name as text: those in a value by their paths, where a text of several lines is there."""
    if value is None and not name:
        return
    if isinstance(value, dict) and value and (not name or _has_lines(value, depth)):
        for key, inner in value.items():
            yield from _values(f"{name}.{_shown_name(key)}" if name else _shown_name(key), inner, depth + 1)
    elif isinstance(value, list) and value and name and _has_lines(value, depth):
        for at, inner in enumerate(value):
            yield from _values(f"{name}[{at}]", inner, depth + 1)
    else:
        yield name, _distinct(value)


def _distinct(value: Any) -> str:
    """Return a value as text: a text that reads as another value, such as `true`, in quotes."""
    plain = plain_text(value)
    if not isinstance(value, str) or _JSON_START.match(plain) is None or "\n" in plain:
        return plain
    try:
        is_another = plain_json(json.loads(plain)) == plain
    except (ValueError, RecursionError):
        return plain
    return plain_json(plain) if is_another else plain


def _has_lines(value: Any, depth: int) -> bool:
    """Return whether a value has a text that is not read well in JSON: of several lines, or a change."""
    if depth > _MAX_NESTING:
        return False
    if isinstance(value, dict):
        return not value.keys().isdisjoint(_OLD | _NEW) or any(_has_lines(one, depth + 1) for one in value.values())
    if isinstance(value, list):
        return any(_has_lines(one, depth + 1) for one in value)
    return isinstance(value, str) and "\n" in value


def _shown_name(key: str) -> str:
    """Return the name of a value, in quotes where it could be taken for something else."""
    return key if _PLAIN_NAME.fullmatch(key) else unhidden_line(plain_json(key))


def _questions(asked: InputRequested) -> str:
    if not any(asked.questions):
        number = len(asked.questions)
        return _prose(asked.note) or (
            f"It asks {number} questions." if number > 1 else "It asks a question in its own window."
        )
    several = len(asked.questions) > 1
    lines = []
    for number, question in enumerate(asked.questions, 1):
        first, *others = question_text(question).split("\n")
        lines += [f"{number}. {first}" if several else first, *(f"{_INDENT}{line}" for line in others)]
        lines += option_lines(question)
    return "\n".join(lines)


def option_lines(question: dict[str, Any]) -> list[str]:
    """Return a line for each option of a question, with its description."""
    lines = []
    for option in _options(question):
        labelled = option if isinstance(option, dict) else {"label": option}
        parts = [unhidden_line(plain_text(labelled[name])) for name in ("label", "description") if labelled.get(name)]
        lines.append(f"{_INDENT}- {': '.join(parts)}")
    return lines


def _options(question: dict[str, Any]) -> list[Any]:
    options = question.get("options")
    return options if isinstance(options, list) else []


def suggestion_text(suggestion: Any) -> str:
    """Return what a suggestion would allow from now on: as words where all of it is known, else as JSON."""
    if isinstance(suggestion, list) and all(isinstance(one, str) for one in suggestion):
        return ", ".join(suggestion)
    if not isinstance(suggestion, dict):
        return plain_text(suggestion)
    kind, where = suggestion.get("type"), suggestion.get("destination")
    known, what = {"type", "destination"}, None
    if kind == "addRules" and suggestion.get("behavior", "allow") == "allow":
        known |= {"rules", "behavior"}
        what = _rules(suggestion.get("rules"))
    elif kind == "setMode":
        known |= {"mode"}
        what = f"mode {plain_text(suggestion.get('mode'))}"
    elif kind == "addDirectories" and isinstance(suggestion.get("directories"), list):
        known |= {"directories"}
        what = f"folders {', '.join(map(plain_text, suggestion['directories']))}"
    if what is None or not suggestion.keys() <= known:
        return plain_text(suggestion)
    return f"{what} ({plain_text(where)})" if where else what


def _rules(rules: Any) -> str | None:
    """Return rules as words; None where they have anything that is not known here."""
    if not isinstance(rules, list) or not all(
        isinstance(one, dict) and one.keys() <= {"toolName", "ruleContent"} for one in rules
    ):
        return None
    return ", ".join(_rule(plain_text(one.get("toolName", "")), one.get("ruleContent")) for one in rules)


def _rule(tool: str, content: Any) -> str:
    return f"{tool} (anything)" if content is None else f"{tool}({plain_text(content)})"


def plain_text(value: Any) -> str:
    """Return a value as text: a text as it is, any other as JSON."""
    return value if isinstance(value, str) else plain_json(value)


def plain_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    try:
        return _encode(value).decode()
    except (UnicodeEncodeError, OverflowError, msgspec.EncodeError, RecursionError):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
