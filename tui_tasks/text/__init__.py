"""Text for terminals: made safe, and instants, durations and states in words. Needs no Textual."""
