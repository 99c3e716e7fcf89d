"""Questions of agents as text: a request in one line, which option says yes or no, what each option allows, and what
became of a closed one.

Pure. `ask_detail` has a question in full.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from tui_tasks.core.agent_names import display_name
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.text.safe import LINE_CHARS, in_quotes, safe_line
from tui_tasks.text.times import SECOND, ago

_YES: Final = frozenset({"approve", "approved", "yes", "y", "ok", "okay", "allow", "accept", "confirm", "proceed"})

_NO: Final = frozenset({"deny", "denied", "no", "n", "reject", "refuse", "disallow", "decline", "cancel", "abort"})
# A word that is all of an option, or that a comma, a dash, a full stop or a bracket parts from the rest. `No-op` and
# `No. 5` are other words.
_WHOLE_WORD: Final = re.compile(r"\s*(\w+)\s*(?:[,;!(\[–—]|\s-|\.(?!\S|\s*\d)|$)")


def first_word(option: str) -> str:
    """Return the word in small letters that is all of an option, or with which it begins before a comma, a dash, a full
    stop or a bracket; empty where other words follow.
    """
    word = _WHOLE_WORD.match(option)
    return word[1].casefold() if word else ""


def _only(options: Sequence[str], words: frozenset[str], otherwise: str) -> str | None:
    """Return the only option that is one of the words; `otherwise` when there are no options."""
    if not options:
        return otherwise
    matches = [option for option in options if first_word(option) in words]
    return matches[0] if len(matches) == 1 else None


def approving(options: Sequence[str]) -> str | None:
    """Return the answer that approves: the only option that says yes, as `Yes` or `Yes, all`; `approve` without
    options; None where there is not exactly one.
    """
    return _only(options, _YES, "approve")


def denying(options: Sequence[str]) -> str | None:
    """Return the answer that denies: the only option that says no, as `No` or `No, keep it`; `deny` without options;
    None where there is not exactly one.
    """
    return _only(options, _NO, "deny")


def why_not_always(ask: Ask, found: Sequence[str]) -> str:
    """Return why nothing can be allowed from now on, where there is not exactly one option for it."""
    from tui_tasks.hooks.replies import reply_sender

    program = (ask.request or {}).get("program")
    if program is not None and (why := reply_sender.why_not(program, "always")) is not None:
        return why
    if found:
        return "There are several ways to allow it always: choose one by its number."
    return "Its program suggests nothing to allow always."


def has_no_unseen(ask: Ask) -> bool:
    """Return whether a question and its options have no invisible characters."""
    from tui_tasks.core.unhidden_text import invisible_char

    return all(invisible_char(text) is None for text in (ask.question, *ask.options))


def ask_state(ask: Ask) -> str:
    """Return the name in `glyphs.LOOKS` of a question's state."""
    return {"open": "needs_you", "answered": "done"}.get(ask.state, "skipped")


def ask_word(ask: Ask) -> str:
    """Return the state of a closed question as a word."""
    return "too late" if ask.state == "timeout" else ask.state


def closed(ask: Ask, now: int, most: int = 60) -> str:
    """Return what became of a closed question, with an answer of at most so many cells."""
    when = ""
    if ask.answered_at is not None:
        when = f" {ago(ask.answered_at, now)}" if now - ask.answered_at >= SECOND else " just now"
    if ask.state == "answered":
        edited = ", with the input as you edited it" if (ask.request or {}).get("updated_input") is not None else ""
        answer = in_one_line(ask.answer or "")
        by_rule = f", by rule: {safe_line(ask.rule, 60)}" if ask.rule else ""
        return f"{'' if ask.rule else 'you '}answered{when}: {in_quotes(safe_line(answer, most))}{edited}{by_rule}"
    if ask.state == "timeout":
        return f"no answer in time; {display_name(ask.agent, 20)} went on{when}"
    if ask.reason:
        return f"closed{when}, as {safe_line(ask.reason, 120)}"
    return f"{display_name(ask.agent, 20)} has withdrawn the question{when}"


def outcome(ask: Ask, now: int) -> str:
    """Return `closed` with a short answer; of a permission `you denied it 2m ago`."""
    if ask.state != "answered" or ask.answered_at is None or ask.rule:
        return closed(ask, now)
    when = ago(ask.answered_at, now) if now - ask.answered_at >= SECOND else "just now"
    if ask.is_permission:
        # A denial may go on with its reason.
        option = (ask.answer or "").partition(": ")[0]
        words = {denying(ask.options): "you denied it", approving(ask.options): "you allowed it"}
        if option in words:
            return f"{words[option]} {when}"
    return f"you answered {in_quotes(safe_line(in_one_line(ask.answer or ''), 30))} {when}"


def in_one_line(answer: str) -> str:
    """Return the lines of an answer, which may be answers to several questions, in one."""
    return "; ".join(line for line in answer.split("\n") if line.strip())


def as_sentence(answer: str, room: int) -> str:
    """Return an answer, cut to a room in cells, as a sentence with one end."""
    shown = safe_line(answer, room)
    return shown if shown.endswith((".", "!", "?", "…")) else f"{shown}."


def tool_asked_for(ask: Ask) -> str:
    """Return the name of the tool that may run after an answer; empty for a question."""
    return safe_line((ask.request or {}).get("tool") or "", 16) if ask.is_permission else ""


_BAR: Final = "│"
"""What a shell puts before each line that another has written (`cli/person_rights`)."""


def request_line(ask: Ask, *, ascii_only: bool = False) -> str:
    """Return in one line what an agent waits for: the tool and its command, or the question.

    It is written out as where the human decides about it, at most the beginning that a line shows.
    """
    # Imported here, since few screens begin with a question.
    from tui_tasks.core.rules.agents.request_text import as_kept, is_written_out, question_text

    request = ask.request or {}
    if request.get("kind") != "permission" or not request.get("tool"):
        if len(questions := [text for one in as_kept(ask).questions if (text := question_text(one))]) > 1:
            lines = "\n".join(questions)[:LINE_CHARS].split("\n")
            return f"{len(questions)} questions: {_joined(lines)}"
        # Cut after the blanks before it, which may be more than a line shows.
        beginning = ask.question.strip()[:LINE_CHARS]
        if is_written_out(ask):
            return _joined(beginning.split("\n"))
        return _unhidden(beginning, is_prose=True, ascii_only=ascii_only)
    text = f"{request['tool']}: {_gist(request.get('input'))}"[:LINE_CHARS]
    return _unhidden(text, is_prose=False, ascii_only=ascii_only)


@lru_cache(256)
def _unhidden(text: str, *, is_prose: bool, ascii_only: bool) -> str:
    """Return a text as one line; kept, as a long one takes milliseconds, and lines are drawn often."""
    from tui_tasks.core.unhidden_text import prose_lines, unhidden_lines

    if is_prose:
        return _joined(prose_lines(text, ascii_only=ascii_only))
    return " ".join(unhidden_lines(text, ascii_only=ascii_only))


def _joined(lines: Sequence[str]) -> str:
    """Return lines of prose in one: `Push to prod? · It is Friday.` What stands behind a bar there is quoted."""
    texts = (line.strip() for line in lines)
    quoted = (f"“{text[1:].strip()}”" if text.startswith(_BAR) else text for text in texts if text.strip(f"{_BAR} "))
    return " · ".join(quoted).replace(": · ", ": ")


def _gist(given: Any) -> str:
    """Return the most telling value of a tool's input."""
    if not isinstance(given, dict):
        return given if isinstance(given, str) else ""
    value = next((given[key] for key in ("command", "file_path", "path", "url", "pattern") if key in given), None)
    if value is None:
        value = next(iter(given.values()), "")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def spoken_options(ask: Ask, options: Sequence[str], project: str = "", *, ascii_only: bool = False) -> list[str]:
    """Return the options of a question for a screen: those that allow from now on say in words what, and in which
    `project`, if its name is known; the one beside them says that it allows once.
    """
    from tui_tasks.core.rules.agents.request_text import ALLOW, always_text, ask_options
    from tui_tasks.core.unhidden_text import unhidden_line

    suggestions = (ask.request or {}).get("suggestions")
    named = suggestions if isinstance(suggestions, list) else ()
    spoken = {always_text(one): always_words(one, project) for one in named}
    if any(option in spoken for option in options):
        spoken[ALLOW] = f"{ALLOW} once"
    shown = zip(options, ask_options(ask, options, ascii_only=ascii_only), strict=True)
    return [
        unhidden_line(words, ascii_only=ascii_only) if (words := spoken.get(option)) is not None else text
        for option, text in shown
    ]


# For how long, and where, each destination of a rule keeps it; `{}` is the project.
_DESTINATIONS: Final = {
    "session": "until its session ends",
    "localSettings": "in {} (settings.local.json)",
    "projectSettings": "in {}, for everyone (settings.json)",
    "userSettings": "in all your projects (~/.claude/settings.json)",
}
# The names of projects that cannot look like other words of an option.
_PROJECT_NAME: Final = r"[A-Za-z0-9_.-]{1,20}"
_MODES: Final = {
    "acceptEdits": "edits of files, unasked (mode acceptEdits)",
    "bypassPermissions": "everything, unasked (mode bypassPermissions)",
}


def always_words(suggestion: Any, project: str = "") -> str | None:
    """Return `Allow once, and from now on every "make ..." in api (settings.local.json)`: what a suggestion allows
    beside what is asked, for how long, and where it is kept. No two read the same; None where a part has no words.
    """
    from tui_tasks.core.rules.agents.request_text import ALLOW, plain_json, plain_text, suggestion_text

    if not isinstance(suggestion, dict) or suggestion_text(suggestion) == plain_text(suggestion):
        return None
    kind, destination = suggestion["type"], suggestion.get("destination")
    if not isinstance(destination, str) or destination not in _DESTINATIONS:
        return None
    place = _DESTINATIONS[destination].format(project if re.fullmatch(_PROJECT_NAME, project) else "its project")
    if kind == "addRules":
        parts = [_rule_words(one.get("toolName"), one.get("ruleContent")) for one in suggestion["rules"]]
    elif kind == "setMode":
        parts = [_MODES.get(suggestion["mode"]) if isinstance(suggestion["mode"], str) else None]
    else:
        parts = ["work in " + ", ".join(map(plain_json, suggestion["directories"]))]
    if not parts or None in parts:
        return None
    return f"{ALLOW} once, and from now on {', '.join(part for part in parts if part is not None)} {place}"


def _rule_words(tool: Any, content: Any) -> str | None:
    """Return `every "make ..."` for the rule `Bash(make:*)`, whose content stands in quotes; None without words."""
    from tui_tasks.core.rules.agents.request_text import plain_json

    if not isinstance(tool, str) or not re.fullmatch(r"\w+", tool, re.ASCII):
        return None
    if content is None:
        return f"every use of {tool}"
    if content in ("", "*", ":*"):  # such a rule may allow everything: it is shown as it is
        return None
    if not isinstance(content, str):
        return None
    if tool != "Bash":
        return f"{tool} {plain_json(content)}"
    begins = content.removesuffix(":*")
    if "*" not in content:
        return f"just {plain_json(content)}"
    if begins != content and "*" not in begins:
        return f"every {plain_json(f'{begins} ...')}"
    return f"all like {plain_json(content)}"
