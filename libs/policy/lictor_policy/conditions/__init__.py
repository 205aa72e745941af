"""Conditions."""
