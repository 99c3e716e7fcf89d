"""The tool families: one file a seed dialect, over one state."""
