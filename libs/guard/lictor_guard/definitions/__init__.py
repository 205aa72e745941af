"""Definitions."""
