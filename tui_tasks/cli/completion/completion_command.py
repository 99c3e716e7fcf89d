"""`completion`: prints the script by which a shell completes the command line."""

from __future__ import annotations

import argparse
from typing import Final

SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
bash, in ~/.bashrc:
  eval "$(tui-tasks completion bash)"
zsh, in ~/.zshrc after compinit:
  eval "$(tui-tasks completion zsh)"
fish, once:
  tui-tasks completion fish > ~/.config/fish/completions/tui-tasks.fish"""


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """Print the script. Exit status 0."""
    from argcomplete.shell_integration import shellcode

    # Where nothing fits, bash would propose files by default; few arguments are files.
    print(shellcode(["tui-tasks"], shell=options.shell, complete_arguments=["-o", "nospace"]), end="")
    return 0
