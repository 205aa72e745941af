"""Drift: what did not go as its contract says, by cause, and how often."""
