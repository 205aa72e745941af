"""Governed decisions: envelope, log, drift, patch, CERPA, report."""
