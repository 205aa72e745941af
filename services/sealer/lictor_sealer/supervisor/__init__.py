"""Governed decisions, drift, CERPA and patches."""
