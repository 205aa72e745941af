"""The proxy that judges every tool call of an MCP server."""
