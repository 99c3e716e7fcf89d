"""The commands about the database as a whole: its project, copies, journal, server, and files of other programs."""
