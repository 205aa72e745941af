"""The messages that an episode covers: commitments, parts, their check."""
