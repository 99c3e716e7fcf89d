"""The inbox of questions, and what all its parts share; failed checks and filed tasks have rooms of their own."""
