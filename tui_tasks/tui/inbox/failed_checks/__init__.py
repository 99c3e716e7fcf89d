"""The inbox's part for tasks of which a check has failed."""
