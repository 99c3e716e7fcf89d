"""Hooks of agent programs: the payloads they send, and what is returned to them (docs: protocol, section 10)."""
