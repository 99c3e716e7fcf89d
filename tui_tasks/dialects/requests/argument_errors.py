"""What is wrong with a tool's arguments, in words: all of it at once (docs: protocol, section 2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, get_args, get_origin

import msgspec

from tui_tasks.core.errors import Problem
from tui_tasks.dialects.requests import ARGUMENT_KEYS, EXTRA_KEYS
from tui_tasks.dialects.requests.arguments import (
    Arguments,
    Unparsed,
    annotation_for,
    fields,
    is_struct,
    names_task,
    schema,
)

_AT: Final = r" - at `\$\.?(.*?)`$"
NUMBERS_START: Final = 'the numbers of tasks start at "#1"'
_BLANK = r"expected string matching regex '\\S'"
_EMPTY = "expected string of length >= 1"
_TOO_LONG = r"expected string of length <= (\d+)"

# A schema takes longer to make than everything else about a refusal. Who changes one makes one of its own.
_kept_schema = cache(schema)


def problems(kind: type[Arguments], given: dict[str, Any]) -> list[Problem]:
    """Return what the types of arguments refuse, in the order in which they were given; then what is missing."""
    return list(_problems(kind, kind, given, ""))


def _problems(root: type[Arguments], kind: Any, value: Any, path: str) -> Iterator[Problem]:
    plain = annotation_for(kind, value)
    if isinstance(value, Unparsed):
        yield path, f"{path}: {value.message}"
    elif isinstance(value, dict) and is_struct(plain):
        yield from _of_struct(root, plain, value, path)
    elif isinstance(value, list) and get_origin(plain) is list:
        wrong = [
            problem
            for at, item in enumerate(value)
            for problem in _problems(root, get_args(plain)[0], item, f"{path}[{at}]")
        ]
        yield from wrong or _of_value(root, kind, value, path)
    else:
        yield from _of_value(root, kind, value, path)


def _of_struct(root: type[Arguments], kind: Any, value: dict[str, Any], path: str) -> Iterator[Problem]:
    known = fields(kind)
    for name, item in value.items():
        inner = f"{path}.{name}" if path else name
        if name in known:
            yield from _problems(root, known[name].type, item, inner)
        elif kind.__struct_config__.forbid_unknown_fields:
            yield inner, _unknown_message(root, path, name, value)
    for name, field in known.items():
        if field.required and name not in value:
            yield f"{path}.{name}" if path else name, _missing_message(root, path, name)


def _of_value(root: type[Arguments], kind: Any, value: Any, path: str) -> Iterator[Problem]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        at = re.search(_AT, text)
        if at is not None:
            yield path, f"{path}: {text}"
            return
        message = _in_words(root, path, _in_words_of_json(text), value)
        yield path, f"{path}: {message}{_hint(root, kind, path, value)}"


def _hint(root: type[Arguments], kind: Any, path: str, value: Any) -> str:
    """Return the end of a message that says what to send in place of a value; "" if nothing is known."""
    if hint := root.hint(path, value):
        return f"; {hint}"
    if isinstance(value, str) and value.lstrip().startswith(("```", "~~~")):
        return "; it is in a Markdown fence: send what is inside it, and as JSON, not as a string"
    if isinstance(value, int) and not isinstance(value, bool) and names_task(msgspec.inspect.type_info(kind)):
        return f'; the number of a task is written "#{value}"' if value > 0 else f"; {NUMBERS_START}"
    return ""


def _in_words(root: type[Arguments], path: str, message: str, value: Any) -> str:
    if message in (_BLANK, _EMPTY):
        return "must not be blank"
    if (limit := re.fullmatch(_TOO_LONG, message)) is not None:
        return f"has more than {int(limit[1]):,} characters"
    if message.startswith("Invalid enum value"):
        words = _words(_kept_schema(root), path)
        near = "" if root.hint(path, value) else nearest(_value_in(message), words)
        return f"{message}; use one of {', '.join(words)}{near}"
    if message.startswith("expected string") and (words := _words(_kept_schema(root), path)):
        return f"{message}; use one of {', '.join(words)}"
    if message.startswith("expected object") and (names := _names(root, path)):
        return f"{message}; it holds {', '.join(names)}"
    if message.startswith("expected array") and (names := _names(root, f"{path}[")):
        return f"{message}; it holds objects of {', '.join(names)}"
    return message


# JSON Schema's names of the types that msgspec names as Python does.
_SCHEMA_WORDS: Final = {"int": "integer", "str": "string", "float": "number", "bool": "boolean"}
_TYPES: Final = r"`([a-z |]+)`"


def _in_words_of_json(text: str) -> str:
    """Return a message with its types named as in the tool's schema, not as in Python."""

    def words(match: re.Match[str]) -> str:
        return " or ".join(_SCHEMA_WORDS.get(word, word) for word in match[1].split(" | "))

    return re.sub(_TYPES, words, text).replace("Expected ", "expected ", 1)


# Keys of a request that models write among the arguments (docs: protocol, section 2).
_BESIDE: Final = EXTRA_KEYS | {"id"}
_MAX_SHOWN: Final = 60


def _unknown_message(kind: type[Arguments], holder: str, name: str, given: dict[str, Any]) -> str:
    path = f"{holder}.{name}" if holder else name
    names = _names(kind, holder)
    message = f"unknown argument {path}; {names_text(kind, holder)}"
    near = nearest(name, [word for word in names if word not in given])
    if holder:
        return message + near
    if name in _BESIDE:
        shown = json.dumps(given[name], ensure_ascii=False)
        shown = shown if len(shown) <= _MAX_SHOWN else "..."
        whose = f"{near} The {name} of a request" if near else f"; {name}"
        return f'{message}{whose} goes beside the arguments: {{"tool": ..., "arguments": {{...}}, "{name}": {shown}}}'
    if name in ARGUMENT_KEYS:
        return f"{message}; what {name} holds goes directly under the arguments of the request"
    return message + near


def _missing_message(kind: type[Arguments], holder: str, name: str) -> str:
    if holder:
        return f"missing argument {holder}.{name}; {names_text(kind, holder)}"
    return f"missing argument {name}; {where_text(name)}: {names_text(kind, holder)}"


def where_text(name: str) -> str:
    """Return where a request has an argument."""
    return f'arguments go under "arguments", as {{"{name}": ...}}'


# For each status: the words for it in the dialects. Each dialect has one of them.
_SYNONYMS: Final = {
    "pending": ("pending", "open"),
    "in_progress": ("in_progress",),
    "done": ("done", "completed"),
    "skipped": ("skipped", "cancelled"),
    "failed": ("failed", "cancelled"),
}
_STATUS_OF_WORD: Final = {
    **dict.fromkeys(
        ("todo", "to_do", "open", "pending", "new", "not_started", "queued", "waiting", "blocked", "ready"), "pending"
    ),
    **dict.fromkeys(("wip", "in_progress", "inprogress", "doing", "started", "active", "ongoing"), "in_progress"),
    **dict.fromkeys(("done", "complete", "completed", "finished", "closed", "resolved", "success"), "done"),
    **dict.fromkeys(("skip", "skipped", "cancel", "canceled", "cancelled", "wontfix", "deferred"), "skipped"),
    **dict.fromkeys(("fail", "failed", "failure", "error", "errored", "broken"), "failed"),
}


# What models write, and the names of arguments, actions and values that they may mean. A word may stand in many lines.
_MEANT: Final = (
    (("title", "task_name", "subject"), ("name", "title")),
    (("name", "content", "text"), ("title", "name", "message", "question")),
    (("desc", "details", "body"), ("description",)),
    (("id", "task_id", "uid", "uuid", "after", "before"), ("uid", "task_id", "uuid", "id")),
    (("log", "note", "comment"), ("message", "notes")),
    (("prompt", "message"), ("question", "message", "prompt")),
    (("lease", "ttl"), ("lease_seconds",)),
    (("items", "todo_list"), ("todos", "tasks")),
    (("state",), ("status",)),
    (("query", "q", "search", "keyword", "contains"), ("text", "query")),
    (("blocked_by", "dependencies", "deps", "depends", "waits_for", "requires"), ("depends_on",)),
    (("assignee", "assigned_to", "owner", "agent_id"), ("agent", "agent_id")),
    (("agent",), ("agent_id",)),
    (("plan", "plan_id", "project", "list_name"), ("plan_id", "list")),
    (("deadline", "due_date", "due_at"), ("due",)),
    (("position", "order", "index", "rank"), ("before",)),
    (("task", "task_uid", "task_number", "number"), ("uid", "task_id", "id")),
    (("cursor", "offset", "page", "skip"), ("after",)),
    (("minutes", "effort", "duration"), ("estimate", "timeout")),
    (("timeout_seconds", "timeout_ms", "seconds"), ("timeout", "lease_seconds")),
    (("choices", "answers"), ("options",)),
    (("steps", "subtasks"), ("tasks", "todos")),
    (("add", "new", "insert"), ("create", "create_plan")),
    (("list", "get", "search", "show", "read"), ("list", "pending")),
    (("complete", "done", "finish", "close"), ("update", "success")),
    (("edit", "set"), ("update",)),
    (("completed", "finished", "ok", "succeeded"), ("success",)),
    (("failed", "failure", "fail"), ("error",)),
    (("cancelled", "canceled", "cancel", "killed", "stopped", "aborted"), ("update", "interrupted")),
    (("delete", "remove"), ("update",)),
    (("enabled", "active", "waiting", "scheduled"), ("idle",)),
    (("paused", "inactive", "off"), ("disabled",)),
    (("critical", "highest", "p0", "blocker"), ("urgent",)),
    (("normal", "default", "p2"), ("medium",)),
    (("lowest", "minor", "p3"), ("low",)),
)


def nearest(given: str, words: list[str]) -> str:
    """Return the end of a message that suggests which of the words was probably meant; "" if none is similar."""
    import difflib

    plain = re.sub(r"[\s-]+", "_", given.strip().lower())
    synonyms = [word for word in _SYNONYMS.get(_STATUS_OF_WORD.get(plain, ""), ()) if word in words]
    synonyms += [
        word for written, meant in _MEANT if plain in written for word in meant if word in words and word != given
    ]
    near = synonyms or difflib.get_close_matches(plain[:100], words, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _value_in(message: str) -> str:
    """Return the value that a message quotes, or ""."""
    match = re.search(r"'(.*)'", message, re.DOTALL)
    return match[1] if match else ""


def _names(kind: type[Arguments], path: str) -> list[str]:
    return [name for option in _options(_kept_schema(kind), path) for name in option.get("properties", ())]


def names_text(kind: type[Arguments], path: str = "") -> str:
    """Return a sentence for people with the arguments that the object at a path takes."""
    names = _names(kind, path)
    return f"it takes {', '.join(names)}" if names else "it takes none"


def _words(part: dict[str, Any], path: str) -> list[str]:
    """Return the words that a schema allows at a path."""
    return [str(word) for option in _options(part, path) for word in option.get("enum", ())]


def _options(part: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """Return the alternative schemas that a schema has at a path."""
    for step in re.findall(r"[A-Za-z_]\w*|\[", path):
        kind = "items" if step == "[" else "properties"
        holder: dict[str, Any] = next((option for option in part.get("anyOf", [part]) if kind in option), {kind: {}})
        part = holder["items"] if step == "[" else holder["properties"].get(step, {})
    options: list[dict[str, Any]] = part.get("anyOf", [part])
    return options
