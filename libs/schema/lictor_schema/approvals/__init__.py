"""Approval requests, policies about them, and runs."""
