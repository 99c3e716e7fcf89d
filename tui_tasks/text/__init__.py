"""What makes text fit for a terminal, and instants, durations and states in words. Needs no Textual."""
