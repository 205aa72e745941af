"""Scalars."""
