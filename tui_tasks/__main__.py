"""The program `tui-tasks`, also as `python -m tui_tasks`."""

import os
import sys


def main() -> None:
    """Run the program, and end with its exit status: 0 done, 1 refused, 2 wrong usage."""
    if sys.argv[1:2] == ["hook"]:
        # An agent waits for its hooks, so this branch imports as little as possible.
        from tui_tasks.hooks.hook_command import main as hook

        if hook(sys.argv[2:]):
            os._exit(0)  # nothing is buffered, and a regular exit of the interpreter takes longer than the hook
    from tui_tasks.cli.main import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
