"""Drift: causes, sightings, recurrence, triage."""
