"""tui_tasks: a human and AI agents work on the same live tasks, in a terminal."""

import sys

__version__ = "0.1.0"

if sys.platform == "win32":
    raise SystemExit(
        "tui-tasks needs Linux or macOS; on Windows run it in WSL: https://learn.microsoft.com/windows/wsl"
    )
