"""The tools over MCP on standard input and output (the extra `mcp`)."""
