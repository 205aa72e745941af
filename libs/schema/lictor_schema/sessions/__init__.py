"""Guarded sessions: the agent definition, questions, the log, feedback."""
