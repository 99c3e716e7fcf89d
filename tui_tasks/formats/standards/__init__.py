"""The formats that belong to no program, one in each module."""
