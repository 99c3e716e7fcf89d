"""One task, alike in every pane: its detail, form, number, quick add, and what is done to it."""
