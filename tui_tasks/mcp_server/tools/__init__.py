"""The tools as MCP has them: what each takes and returns, what that costs, and in which words."""
