"""Keys: the table of actions with their default keys, the user's own keys, the terminal's input, and keys typed ahead."""
