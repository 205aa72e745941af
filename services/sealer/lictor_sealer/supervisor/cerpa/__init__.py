"""The fold of claims into cycles."""
