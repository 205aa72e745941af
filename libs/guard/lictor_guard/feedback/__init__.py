"""Feedback."""
