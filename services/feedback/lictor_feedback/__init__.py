"""The feedback service: gates tool calls, guides agents between them, blocks early stops."""

__version__ = "0.1.0"
