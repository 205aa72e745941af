"""Questions before an act, their answers and records."""
