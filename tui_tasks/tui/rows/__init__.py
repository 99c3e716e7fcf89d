"""A list of rows fetched by key, ten or a million: where they come from, what is kept, how they are painted."""
