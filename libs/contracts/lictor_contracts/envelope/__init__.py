"""Envelope."""
