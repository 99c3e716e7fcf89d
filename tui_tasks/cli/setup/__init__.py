"""`setup`: adds this program's tools, hooks and guidance to the files of an agent program."""
