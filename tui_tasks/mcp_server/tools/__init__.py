"""The tools as MCP has them: descriptions, schemas, results, their size, and what they cost."""
