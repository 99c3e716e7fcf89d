"""JSON for a terminal: the same value, and nothing in it that a terminal would obey or hide."""

from __future__ import annotations

import json
import re
from typing import Any, Final

# Valid in JSON as they are, and yet orders to a terminal or invisible there.
_UNSEEN: Final = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)


def readable(text: str) -> str:
    """JSON with an escape for each character that would do more than be read."""
    if text.isascii() and "\x7f" not in text:
        # Nearly all is, and a long text is told so in a hundredth of the time.
        return text
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def shown(value: Any, indent: int | None = None) -> str:
    """A value as `readable` JSON."""
    return readable(json.dumps(value, ensure_ascii=False, indent=indent))
