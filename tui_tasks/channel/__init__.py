"""The control channel: lines in, replies and events out, in one session over the state (docs: protocol)."""
