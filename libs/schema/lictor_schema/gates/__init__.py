"""Questions to gates, their answers, and their records."""
