"""Loops."""
