"""The MCP proxy between an agent and any MCP server."""
