"""The approval service: asks before a proved program runs or a tool call is made, and keeps what was decided."""

__version__ = "0.1.0"
