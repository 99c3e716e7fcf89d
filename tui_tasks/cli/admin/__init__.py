"""The commands that look after the database: doctor, backup, restore, compact and config."""
