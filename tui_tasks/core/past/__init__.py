"""The state as it was after an entry of the journal, rebuilt in a private database."""
