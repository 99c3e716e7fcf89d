"""Who is there: the agent's process, the screens that could answer, and finding gone who is gone."""
