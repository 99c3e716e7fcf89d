"""`setup`: an agent program is given this program's tools, hooks and guidance, in the program's own files."""
