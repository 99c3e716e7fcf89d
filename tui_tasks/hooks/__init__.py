"""Agents not written for us: what their hooks tell, and what is told back to them (docs: protocol, section 10)."""
