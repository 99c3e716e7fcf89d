"""What a request says, before any dialect: strict JSON, arguments, whose task is meant, who speaks."""
