"""Seal."""
