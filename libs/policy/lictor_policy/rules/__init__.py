"""Compiled rules: scope, suppression, templates, and how often they fire."""
