"""Feedback: which providers run when, and what the agent reads."""
