"""Corrections: a later version of an episode, ordered by an operator."""
