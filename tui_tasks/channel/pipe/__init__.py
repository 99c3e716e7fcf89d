"""A session on two file descriptors: parses lines into requests, and writes replies and events."""
