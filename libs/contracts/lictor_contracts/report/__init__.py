"""The coherence report: objectives, measurements, verdicts."""
