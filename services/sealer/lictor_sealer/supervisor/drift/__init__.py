"""Folds of drift: sightings, and their recurrence."""
