"""The commands by which a person supervises: the screen, lists, jobs, questions, agents, work, and what is held."""
