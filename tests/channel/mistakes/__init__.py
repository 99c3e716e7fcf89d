"""Lines that models write wrongly."""
