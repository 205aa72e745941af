"""Patches on the bus."""
