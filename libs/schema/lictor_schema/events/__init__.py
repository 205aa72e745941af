"""What agents report: events, claims, evidence."""
