"""Wording of answers, and patterns that match in linear time."""
