"""A session on two descriptors: bytes to lines, lines to requests, and replies and events written back."""
