"""The Effect IR: terms, effects, contracts, lowering, analyses and the certificate checker.

Nothing is here yet. The prover says so itself: it rejects every program it is given.
"""

__version__ = "0.1.0"
