"""CERPA: claims reviewed against events, and the cycles that follow."""
