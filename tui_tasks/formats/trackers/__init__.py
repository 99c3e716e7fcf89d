"""The files of other programs that keep tasks, one program in each module."""
