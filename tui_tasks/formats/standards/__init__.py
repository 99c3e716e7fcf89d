"""The formats that belong to no program: a module a format."""
