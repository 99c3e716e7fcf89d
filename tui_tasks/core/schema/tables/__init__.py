"""The tables, as Peewee models, a module for each subject. Instants are integers: microseconds since the epoch, UTC.

The models are bound to no database: `statements` compiles queries from them once, and `database` runs the SQL. `apply`
maintains what is derived (counts, `waiting_on`, `solo`, the edges).
"""
