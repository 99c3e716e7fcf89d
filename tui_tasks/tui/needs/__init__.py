"""What needs the human: which things and how urgent, their words, and the lines of them below the head."""
