"""Keys: the table of actions and their keys, the user's own keys, the terminal's input, and keys typed ahead."""
