"""Guarded sessions: agent definitions, questions, logs, feedback."""
