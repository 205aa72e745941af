"""Orders to seal an episode once more, as its next version."""
