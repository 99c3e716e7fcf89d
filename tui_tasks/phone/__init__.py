"""What needs the human, sent to a phone by ntfy, and the answers that come back (docs: phone)."""
