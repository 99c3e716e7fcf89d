"""Jobs and runs as the scheduler, the dialects and the screens read them."""
