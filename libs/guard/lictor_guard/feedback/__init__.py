"""Feedback between tool calls: which providers run, when, and how it reads."""
