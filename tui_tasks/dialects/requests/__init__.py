"""The parts of a request that all dialects share: strict JSON, arguments, references to tasks, the speaker's
identity.
"""
