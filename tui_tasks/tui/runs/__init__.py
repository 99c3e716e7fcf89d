"""The runs of a job and their output."""
