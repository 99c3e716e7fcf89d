"""The screens. Knows no SQL."""
