"""The commands for administration: setting agent programs up, the database, its copies, and files of other programs."""
