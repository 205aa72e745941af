"""Syntax."""
