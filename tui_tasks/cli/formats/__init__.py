"""`export`, `import` and `sync-file`."""
