"""Facts."""
