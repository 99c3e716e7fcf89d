"""Keys: the table of actions, the human's keymap, the terminal's input, and keys typed ahead."""
