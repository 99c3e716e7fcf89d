"""The state and its rules. Knows no JSON channel and no terminal."""
