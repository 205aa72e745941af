"""CERPA cycles on the bus."""
