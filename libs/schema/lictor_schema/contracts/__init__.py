"""Governed decisions: envelopes, their logs and questions, drift, patches, CERPA, the report."""
