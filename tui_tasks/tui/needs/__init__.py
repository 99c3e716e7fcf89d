"""All that needs the human, and what every agent does, as a model: the lines around the panes and the inbox draw it."""
