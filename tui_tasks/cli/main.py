"""The entry point of the command line. What needs no parser is answered before argparse is imported."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence

from tui_tasks import __version__
from tui_tasks.cli import streams


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status: 0 done, 1 refused, 2 wrong usage."""
    if arguments is None and "_ARGCOMPLETE" in os.environ and not sys.argv[1:]:
        from tui_tasks.cli import command_line
        from tui_tasks.cli.completion import complete

        complete(command_line.command_of)
    if (sys.argv[1:] if arguments is None else list(arguments)) == ["--version"]:
        return _flushed(_print_version)
    from tui_tasks.cli import command_line

    if arguments is not None:
        return command_line.run(arguments)
    given = sys.argv[1:]
    if not command_line.is_short(given):
        status = _flushed(lambda: command_line.run(given))
        gc.freeze()
        return status
    # Garbage collection takes a sixth of such a process's time, and a regular exit of the interpreter a thirtieth.
    gc.disable()
    status = _flushed(lambda: command_line.run(given))
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(status)


def _print_version() -> int:
    streams.prepare()
    print(f"tui-tasks {__version__}")
    return 0


def _flushed(run: Callable[[], int]) -> int:
    """Run something that prints, and report if its output could not be written; return the exit status."""
    try:
        try:
            return run()
        finally:
            if sys.stdout is not None:
                streams.flush()
    except streams.OutputFailed as failed:
        print(f"tui-tasks: standard output cannot be written: {failed}; what was changed is kept", file=sys.stderr)
    except BrokenPipeError:
        streams.discard()  # the reader of the output has read enough, as `head` does
        return 0
    streams.discard()
    return 1
