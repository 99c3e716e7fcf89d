"""tui_tasks: a human and AI agents work on the same live tasks, in a terminal."""

import sys

# Every hook of an agent imports this module, and importing `typing` takes longer than the hook itself.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tui_tasks.state.open_state import DatabaseRefused, State, ToolError, open_state

__all__ = ["DatabaseRefused", "State", "ToolError", "__version__", "open_state"]
__version__ = "0.1.0"

if sys.platform == "win32":
    raise SystemExit(
        "tui-tasks needs Linux or macOS; on Windows run it in WSL: https://learn.microsoft.com/windows/wsl"
    )


def __getattr__(name: str) -> object:
    """Import what `open_state` needs when it is asked for: every command imports this package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tui_tasks.state import open_state

    value: object = getattr(open_state, name)
    return value
