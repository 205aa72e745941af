"""The prover: shows what an agent's program will do before it runs, or refuses it."""

__version__ = "0.1.0"
