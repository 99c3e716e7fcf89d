"""The part of the inbox for tasks with a failed check."""
