"""Submissions, proof results, coverage, strength."""
