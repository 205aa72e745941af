"""Proves what a program will do before it runs: Python and trusted layers to Effect IR, Effect IR to a verdict."""

__version__ = "0.1.0"
