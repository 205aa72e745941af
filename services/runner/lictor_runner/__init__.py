"""The runner: executes exactly what was approved, once, and takes back what does not complete."""

__version__ = "0.1.0"
