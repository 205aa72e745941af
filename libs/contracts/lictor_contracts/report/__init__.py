"""The coherence report: what is measured, and the objectives."""
