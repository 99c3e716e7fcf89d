"""The parts of a commit: operations applied to rows, changes in steps, cached lookups, stored replies."""
