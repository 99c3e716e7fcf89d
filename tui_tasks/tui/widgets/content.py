"""Safe text as Content of Textual, never parsed as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.text.safe import TEXT_CHARS, safe_line, safe_text

if TYPE_CHECKING:
    from textual.content import Content


def plain(text: str, style: str = "", limit_cells: int | None = None) -> Content:
    """Return one safe line as Content in one style (`"$state-done"`); none of it is markup."""
    from textual.content import Content

    return Content.styled(safe_line(text, limit_cells), style, strip_control_codes=False)


def block(text: str, style: str = "", limit_chars: int = TEXT_CHARS) -> Content:
    """Return safe lines as Content in one style; none of it is markup."""
    from textual.content import Content

    return Content.styled(safe_text(text, limit_chars), style, strip_control_codes=False)
