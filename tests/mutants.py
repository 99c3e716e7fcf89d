"""Print the mutants of a module that its tests let live: `python -m tests.mutants MODULE [TESTS ...]`.

MODULE is a file such as tui_tasks/core/rules/undo.py. Without TESTS, those beside it are run: the files of the
same folder in tests/ that have the module's name in theirs, or else the whole folder. mutmut mutates a copy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
_COPIED = ("pyproject.toml", "tests", "themes", "tui_tasks")
_SETTINGS = """[mutmut]
source_paths=
    {module}
also_copy=
    {copied}
pytest_add_cli_args=
    -n
    0
    -p
    no:cacheprovider
pytest_add_cli_args_test_selection=
    {tests}
"""
# `    MODULE.x_FUNCTION__mutmut_3: survived`
_RESULT = re.compile(r"^ +(\S+__mutmut_\d+): (.+)$", re.MULTILINE)


def tests_beside(module: str, root: Path = ROOT) -> list[str]:
    """Return the tests that lie beside a module."""
    file = Path(module)
    folder = Path("tests", *file.parent.parts[1:])
    named = sorted((root / folder).glob(f"test_*{file.stem.removesuffix('_rules')}*.py"))
    return [str(test.relative_to(root)) for test in named] or [str(folder)]


def living(module: str, tests: Sequence[str], root: Path = ROOT) -> Iterator[str]:
    """Yield each mutant that lives: why, and how it differs from the module.

    Raises:
        RuntimeError: the tests do not pass on the module as it is, or mutmut cannot run.
    """
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        for each in _COPIED:
            if (root / each).is_dir():
                shutil.copytree(root / each, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
            elif (root / each).exists():
                shutil.copy(root / each, folder / each)
        copied = [each for each in _COPIED if (root / each).exists()]
        named = {"module": module, "copied": "\n    ".join(copied), "tests": "\n    ".join(tests)}
        (folder / "setup.cfg").write_text(_SETTINGS.format(**named))
        ran = _mutmut(folder, "run")
        if ran.returncode != 0:
            raise RuntimeError(f"mutmut ended with status {ran.returncode}:\n{ran.stdout[-3000:]}")
        for mutant, state in _RESULT.findall(_mutmut(folder, "results").stdout):
            diff = _mutmut(folder, "show", mutant).stdout
            yield f"{state}: {mutant}\n{diff[diff.find('@@') :].rstrip()}\n"


def _mutmut(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The copy comes before the checkout, which an editable installation has on the path.
    environment = {**os.environ, "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "mutmut", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def main(module: str, *tests: str) -> int:
    """Print the living mutants of a module; return 1 if there are any."""
    found = list(living(module, tests or tests_beside(module)))
    print(*found, f"{len(found)} living", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
