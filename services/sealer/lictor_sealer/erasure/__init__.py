"""Erasures of what an episode covers, ordered and recorded."""
