"""Sealed episodes, their parts and sources, and erasures."""
