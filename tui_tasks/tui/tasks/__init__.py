"""One task in all panes: its detail, form, number, quick add, and actions."""
