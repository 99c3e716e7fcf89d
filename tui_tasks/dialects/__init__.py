"""The tool families ("dialects"), one in each file, over one state."""
