"""The approval service: asks before a proved program runs, and keeps what was decided."""

__version__ = "0.1.0"
