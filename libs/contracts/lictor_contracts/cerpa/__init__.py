"""Cerpa."""
