"""Databases as released programs have left them, one of each schema, plain and compacted; none is ever made anew."""
