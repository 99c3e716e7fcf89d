"""The commands by which a person supervises from a shell: lists, jobs, questions, agents, and what is held."""
