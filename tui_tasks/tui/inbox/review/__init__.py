"""The part of the inbox for what agents have filed, which waits until the human accepts it."""
