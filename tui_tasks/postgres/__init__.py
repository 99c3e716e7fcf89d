"""A team's server: the journal on PostgreSQL, which each machine replays into a replica; psycopg is used here alone."""
