"""The state as it was after an entry of the journal, in a private database of its own."""
