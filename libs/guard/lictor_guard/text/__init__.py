"""Texts for agents and people, and patterns that match in linear time."""
