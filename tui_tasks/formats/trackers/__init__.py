"""The files of other programs that keep tasks: a module a program."""
