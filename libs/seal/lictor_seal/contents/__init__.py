"""Contents."""
