"""Inputs, dialogs, and the syntax of filters."""
