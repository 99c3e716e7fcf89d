"""The command line: one module a verb or a group of them. Uses everything below; nothing uses it."""
