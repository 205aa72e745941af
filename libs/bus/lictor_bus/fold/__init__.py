"""Fold."""
