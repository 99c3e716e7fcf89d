"""The control channel: requests in, replies and events out, in a session over the state (docs: protocol)."""
