"""The pages of `tui_tasks/docs` and the README, held to what the program does."""
