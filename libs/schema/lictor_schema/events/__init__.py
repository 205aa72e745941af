"""Events, their payloads, claims and evidence."""
