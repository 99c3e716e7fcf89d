"""Replies to an agent through its hooks: answers, messages, pauses, in its program's form."""
