"""The program `tui-tasks`, which `python -m tui_tasks` is, too."""

import os
import sys


def main() -> None:
    """Run the program and end with its exit status: 0 done, 1 refused, 2 wrong usage."""
    if sys.argv[1:2] == ["hook"]:
        # An agent waits for its hooks: this one imports nothing of ours that it does not need.
        from tui_tasks.hooks.main import main as hook

        if hook(sys.argv[2:]):
            os._exit(0)  # nothing is buffered, and taking the interpreter down takes longer than the hook
    from tui_tasks.cli.main import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
