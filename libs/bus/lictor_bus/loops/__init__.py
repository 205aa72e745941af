"""Loops of a service that do not fold: many messages at once, each by itself, and the watch over stalls."""
