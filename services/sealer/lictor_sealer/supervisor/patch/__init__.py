"""Patches that were settled, told to the drift that asked for them."""
