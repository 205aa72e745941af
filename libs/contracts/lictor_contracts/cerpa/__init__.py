"""CERPA: claims held against what is measured, and the cycles that follow."""
