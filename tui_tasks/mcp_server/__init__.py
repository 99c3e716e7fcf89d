"""The tools over MCP, on standard input and output or over HTTP (the extra `mcp`)."""
