"""What is imported from here is kept compiled: where it may not be, each of hundreds of processes would compile it."""

import sys

sys.dont_write_bytecode = False
