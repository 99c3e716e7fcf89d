"""The commands for administration: doctor, backup, restore, compact and config."""
