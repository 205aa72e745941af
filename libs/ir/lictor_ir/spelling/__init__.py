"""Spelling."""
