"""`python -m tui_tasks` is the program `tui-tasks`."""

import sys

from tui_tasks.cli.main import main

sys.exit(main())
