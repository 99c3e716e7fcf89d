"""Each promise of reliability and security, proved by doing it: `python -m tests.soak [NAME ...] [--minutes N]`.

Without a name all are done, at the length of the promises. `--quick` is what the ordinary tests do.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.budget import Budget
from tests.soak.native import NotHere

SOAKS = (
    "kills", "power_cut", "storage", "lines", "stopped", "read_only", "backups", "restore", "journal", "scheduler",
    "days", "payloads", "pastes", "clocks", "bytes", "formats", "work", "repositories",
    "server", "server_jobs", "server_merges",
)  # fmt: skip
QUICK = 0.004


def main() -> int:
    options = _options()
    for name in options.names or SOAKS:
        # In memory where there is such a place: it is not the disk that is tried here.
        place = options.folder or (Path("/dev/shm") if Path("/dev/shm").is_dir() else None)
        folder = Path(tempfile.mkdtemp(prefix=f"soak-{name}-", dir=place))
        began = time.monotonic()
        try:
            soak = importlib.import_module(f"tests.soak.{name}").soak
            told = soak(folder, Budget(QUICK if options.quick else 1.0, options.minutes))
            print(f"{name}: {told}; {time.monotonic() - began:.0f} s", flush=True)
        except NotHere as reason:
            print(f"{name}: not done here: {reason}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*SOAKS, []], metavar="NAME", help=f"which of {', '.join(SOAKS)}")
    parser.add_argument("--minutes", type=float, help="end each after so many, whatever it has done")
    parser.add_argument("--quick", action="store_true", help="a few of each, as in the ordinary tests")
    parser.add_argument("--folder", type=Path, help="where to work (a folder in memory, where there is one)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
