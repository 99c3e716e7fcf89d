"""The parts of a request that all dialects share: strict JSON, arguments, task references, identity."""
