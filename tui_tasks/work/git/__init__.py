"""What git does for the work of agents: worktrees, the review, the merge and its undo, pull requests."""
