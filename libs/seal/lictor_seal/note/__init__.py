"""Note."""
