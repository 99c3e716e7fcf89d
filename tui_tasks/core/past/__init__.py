"""The state as it was after a journal entry, rebuilt in a private database."""
