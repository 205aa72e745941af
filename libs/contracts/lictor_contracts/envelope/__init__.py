"""Envelopes: the bounds they set, and the ladder of what is done instead."""
