"""Runs programs with stand-ins for their trusted calls, for the prover."""

__version__ = "0.1.0"
