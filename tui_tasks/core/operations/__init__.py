"""Every write that can happen, as a frozen value. `store.commit` takes them; `core.rules` decides what each becomes.

Instants are microseconds since the epoch, UTC; names and words are the state's (`core.vocab`), never a dialect's.
"""
