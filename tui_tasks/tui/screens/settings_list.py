"""The settings that are in force: each with its value, where that comes from, and what it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks import regular_files
from tui_tasks.core.engine.file_writes import make_folder
from tui_tasks.settings import config, paths
from tui_tasks.settings.config import Config
from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.screens.picker import PaletteEntry, Picker

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


_OF_START: Final = ("ascii", "quiet_after", "bell", "notify", "notify_command", "notify_read_only", "keys", "views")
"""The settings that a screen reads when it starts."""
_DEFAULT: Final = "default"
# In cells: the column of names and values, before what each setting does.
_VALUES: Final = 40
_CHANGED: Final = (
    "Saved. Checks, runners, work, review, rules and limits hold at once, the theme, keys and all others when the "
    "screen restarts."
)


def settings_list(context: Context) -> Picker:
    """Return the settings; Enter edits the file that has them."""
    path = paths.configuration()
    held, problems = config.load(path)
    held_text = _text_of(path)

    def edit() -> None:
        context.run(_edit(context, path))

    place = safe_ends(str(path), 70)
    there = "" if held_text else "  (not there yet: every setting is at its default)"
    entries = [PaletteEntry(f"{place}{there}", heading=True)]
    wrong = (f"! {path.name}:{one.line}: {one.message}" if one.line else f"! {one.message}" for one in problems)
    entries += [PaletteEntry(safe_line(text, 200), run=edit) for text in wrong]
    for field in msgspec.structs.fields(Config):
        entries += [
            PaletteEntry(
                f"{named:<{_VALUES}}  {about}",
                source,
                run=edit,
                words=field.name,
                about=config.description(field),
            )
            for named, source, about in _rows(context.config, held, field, held_text, path.name)
        ]
    return Picker(context, "/", entries, enter="Edit the file", is_chooser=True)


def _text_of(path: Path) -> str:
    try:
        return regular_files.read_text(path, paths.MAX_SETTINGS_BYTES)
    except (OSError, UnicodeDecodeError):
        return ""


def _rows(running: Config, held: Config, field: Any, text: str, file: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name and value of a setting, or of each part of a table, where it comes from, and what it does."""
    name, value, about = field.name, getattr(held, field.name), config.description(field)

    def source(part: str = "") -> str:
        line = config.line_of(text, part, name) if part else config.line_of(text, name)
        return f"{file}:{line}" if line is not None else _DEFAULT

    if name in _OF_START and (now := getattr(running, name)) != value:
        yield _named(name, now), f"this start, then {_json(value)}", about
    elif isinstance(value, msgspec.Struct):
        parts = ((part, getattr(value, part)) for part in type(value).__struct_fields__)
        yield from _part_rows(name, parts, source, about)
    elif isinstance(value, dict) and value:
        yield from _part_rows(name, value.items(), source, about)
    else:
        yield _named(name, value), source(), about


def _part_rows(
    name: str, parts: Iterable[tuple[str, Any]], source: Callable[[str], str], about: str
) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each part of a table; the first says what the table is for."""
    for at, (part, value) in enumerate(parts):
        yield _named(f"{name}.{part}", value), source(part), "" if at else about


def _named(name: str, value: Any) -> str:
    """Return `bell = true`; a long value has the room that is left, and is cut."""
    named = f"{name} = "
    return named + safe_line(_json(value), max(12, _VALUES - cell_len(named)))


def _json(value: Any) -> str:
    return re.sub(r",(?=\S)", ", ", msgspec.json.encode(value).decode())


async def _edit(context: Context, path: Path) -> None:
    """Let the human edit the file in $EDITOR; say what is wrong with it then, else from when it holds."""
    before = _text_of(path)
    make_folder(str(path.parent))
    editor.open_file(context, path)
    if _text_of(path) == before:
        return
    _, problems = config.load(path)
    context.say(f"Saved, but {safe_line(str(problems[0]), 300)}" if problems else _CHANGED)
