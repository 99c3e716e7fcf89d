"""The commands on tasks that a person types in a shell."""
