"""Conditions of rules: facts, times, requirements, and what can be known of them without an event."""
