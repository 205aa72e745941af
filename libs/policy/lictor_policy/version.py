"""The version of the evaluator's meaning: part of the config hash, so of every decision id."""

ENGINE_VERSION = "0.4.0"
"""Raise it when the same events and packs can lead to other decisions."""
