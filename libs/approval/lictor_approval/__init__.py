"""Approvals of proved programs and tool calls: what is asked, who may say yes, and until when. No I/O, no clock."""

__version__ = "0.1.0"
