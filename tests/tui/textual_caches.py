"""What Textual parses, derives or looks up anew for each App, done once for all Apps of a test process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, MethodType
from typing import Any

import pytest
from rich.segment import Segment
from textual import _callback
from textual.cache import FIFOCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.design import ColorSystem
from textual.message import Message
from textual.message_pump import MessagePump
from textual.strip import Strip

_parsed: dict[tuple[object, ...], list[RuleSet]] = {}
_numbers: dict[tuple[tuple[str, str], ...], int] = {}
_generated: dict[tuple[object, ...], dict[str, str]] = {}
_handlers: dict[tuple[type, str], list[tuple[type, str]] | None] = {}

# How many entries each holds.
_STRIP_CACHES = {
    name: cache._maxsize for name in Strip.__slots__ if isinstance(cache := getattr(Strip([]), name), FIFOCache)
}

_parse, _generate = Stylesheet._parse_rules, ColorSystem._generate
_dispatch_methods, _count_parameters = MessagePump._get_dispatch_methods, _callback._count_parameters


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Apps of a test share them."""
    monkeypatch.setattr(Stylesheet, "_parse_rules", parsed_once)
    monkeypatch.setattr(ColorSystem, "_generate", generated_once)
    monkeypatch.setattr(MessagePump, "_get_dispatch_methods", dispatch_methods)
    monkeypatch.setattr(_callback, "_count_parameters", count_parameters)
    monkeypatch.setattr(Strip, "__init__", begin_strip)
    monkeypatch.setattr(Strip, "__getattr__", cache_of_strip, raising=False)


def parsed_once(sheet: Stylesheet, css: str, read_from: Any, *rest: Any, **named: Any) -> list[RuleSet]:
    """As Textual parses rules, once for the same text and variables."""
    variables, number = vars(sheet).get("numbered", (None, 0))
    if variables is not sheet._variables:
        number = _numbers.setdefault(tuple(sheet._variables.items()), len(_numbers))
        vars(sheet)["numbered"] = sheet._variables, number
    key = (css, read_from, rest, *named.items(), number)
    if key not in _parsed:
        _parsed[key] = _parse(sheet, css, read_from, *rest, **named)
    return _parsed[key]


def generated_once(system: ColorSystem) -> dict[str, str]:
    """As Textual derives the colours of a theme, once for each theme."""
    key = (*(vars(system) | {"variables": None}).values(), *system.variables.items())
    if key not in _generated:
        _generated[key] = _generate(system)
    return _generated[key].copy()


def dispatch_methods(pump: MessagePump, name: str, message: Message) -> Iterator[tuple[type, Callable[..., Any]]]:
    """As Textual finds the handlers of a message, but a class is asked once for the names of its own and inherited."""
    kind = type(pump)
    if (kind, name) not in _handlers:
        _handlers[kind, name] = _names_of_handlers(kind, name)
    found = _handlers[kind, name]
    if found is None:
        yield from _dispatch_methods(pump, name, message)
        return
    for cls, its_name in found:
        if message._no_default_action:
            break
        yield cls, cls.__dict__[its_name].__get__(pump, cls)


def _names_of_handlers(kind: type, name: str) -> list[tuple[type, str]] | None:
    """Return which bases of a class handle messages by a name, and theirs of it; None where some do by `@on`."""
    if any(cls.__dict__.get("_decorated_handlers") for cls in kind.__mro__):
        return None
    names = ((cls, next((each for each in (f"_{name}", name) if cls.__dict__.get(each)), "")) for cls in kind.__mro__)
    return [(cls, its_name) for cls, its_name in names if its_name]


def count_parameters(function: Callable[..., Any]) -> int:
    """As Textual counts parameters by `inspect.signature`; of a plain function its code tells how many."""
    if type(function) is MethodType:
        return count_parameters(function.__func__) - 1
    if type(function) is not FunctionType or hasattr(function, "__wrapped__"):
        return _count_parameters(function)
    code = function.__code__
    more = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + more


def begin_strip(strip: Strip, segments: Iterable[Segment], cell_length: int | None = None) -> None:
    """As Textual makes a strip, without its seven caches: few strips use one, and thousands are made in a test."""
    strip._segments = list(segments)
    strip._cell_length = cell_length
    strip._render_cache = strip._link_ids = strip._cell_count = None


def cache_of_strip(strip: Strip, name: str) -> FIFOCache[Any, Any]:
    """Make a cache of a strip when it is first used."""
    if name not in _STRIP_CACHES:
        raise AttributeError(name)
    cache: FIFOCache[Any, Any] = FIFOCache(_STRIP_CACHES[name])
    setattr(strip, name, cache)
    return cache
