"""What an agent receives later than its reply: results of waits, events, the human's messages."""
