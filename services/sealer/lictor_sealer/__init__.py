"""The sealer: folds the decisions on a task into an episode, seals it, and appends it to a Merkle log."""

__version__ = "0.1.0"
