"""The HTTP interface for agents in any language."""
