"""What reaches an agent other than at once: replies of requests that wait, events, the human's messages."""
