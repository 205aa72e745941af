"""Loops over consumers whose messages are handled one by one, without a fold."""
