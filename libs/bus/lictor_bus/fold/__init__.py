"""Streams folded in batches: the worker of a partition, its state, its timers."""
