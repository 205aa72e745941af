"""Correction."""
