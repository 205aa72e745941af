"""Approvals of proved programs: what is asked, who may say yes, and when that still counts. No I/O, no clock."""

__version__ = "0.1.0"
