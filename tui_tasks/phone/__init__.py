"""Sends what needs the human to a phone by ntfy, and receives the answers (docs: phone)."""
