"""Patch."""
