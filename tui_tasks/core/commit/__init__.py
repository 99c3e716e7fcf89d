"""What a commit is made of: operations applied to rows, changes in steps, lookups and replies that are kept."""
