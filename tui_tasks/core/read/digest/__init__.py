"""What happened since an instant, for a person who was away: the parts of a digest, a file each."""
