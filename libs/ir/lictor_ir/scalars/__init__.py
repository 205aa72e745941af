"""Containers and rows taken apart into scalars, and terms rewritten to simpler ones."""
