"""What goes back to an agent through its hooks: answers, messages, pauses, in its program's own form."""
