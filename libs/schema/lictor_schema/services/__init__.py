"""Health and dead letters, of every service."""
