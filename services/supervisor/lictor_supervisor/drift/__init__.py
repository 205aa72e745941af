"""Drift on the bus: seen, counted, published."""
