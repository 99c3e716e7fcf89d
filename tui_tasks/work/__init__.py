"""Agents at work on a task, each in a git worktree of its own: their start and terminals, the review and the merge."""
