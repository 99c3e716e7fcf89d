"""The standing answers in the settings file: one is added at its end, or taken out, and the rest stays as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks import regular_files
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.rules.agents.answer_rules import AnswerRule
from tui_tasks.settings import atomic_file, paths

_TABLE: Final = re.compile(r"\s*\[\[\s*rule\s*\]\]")
_ANY_TABLE: Final = re.compile(r"\s*\[")


def add(path: Path, rule: AnswerRule) -> None:
    """Add a rule to the settings file, which is made if there is none.

    Raises:
        Conflict: the file cannot be changed so.
        OSError: it cannot be read or written.
    """
    try:
        text = regular_files.read_text(path, paths.MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        text = ""
    fields = msgspec.to_builtins(rule)
    # JSON's strings are strings of TOML.
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
    added = f"{text}{_gap(text)}[[rule]]\n{lines}"
    wanted = _parsed(path, text)
    wanted["rule"] = [*wanted.get("rule", []), fields]
    if _parsed(path, added) != wanted:
        raise Conflict(f"{path} has its rules in another form: add this one in an editor", path=str(path))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    atomic_file.replace(path, added.encode())


def _gap(text: str) -> str:
    if not text:
        return ""
    return "\n" if text.endswith("\n") else "\n\n"


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Conflict(f"{path}: {error}: mend it first", path=str(path)) from None


def remove(path: Path, number: int, rules: Sequence[AnswerRule]) -> AnswerRule:
    """Remove the rule with that number, from 1, of those that the file has; return it.

    Raises:
        Conflict: its table cannot be found in the text.
        NotFound: there is no such rule.
    """
    if not 0 < number <= len(rules):
        raise NotFound("rule", f"{number}: `tui-tasks rules` lists them")
    text = regular_files.read_text(path, paths.MAX_SETTINGS_BYTES)
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if _TABLE.match(line)]
    wanted = _parsed(path, text)
    del wanted["rule"][number - 1]
    wanted = {name: value for name, value in wanted.items() if value or name != "rule"}
    if len(heads) == len(rules):
        begin = heads[number - 1]
        following = (at for at in range(begin + 1, len(lines)) if _ANY_TABLE.match(lines[at]))
        del lines[begin : next(following, len(lines))]
    if len(heads) != len(rules) or _parsed(path, "".join(lines)) != wanted:
        raise Conflict(f"the table of rule {number} is not found in {path}: remove it in an editor")
    atomic_file.replace(path, "".join(lines).encode())
    return rules[number - 1]
