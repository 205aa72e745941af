"""Drift."""
