"""Json."""
