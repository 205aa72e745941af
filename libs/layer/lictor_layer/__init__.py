"""What trusted layers and agent programs are written with."""

__version__ = "0.1.0"
