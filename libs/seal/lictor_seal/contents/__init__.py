"""The messages that an episode covers, and their commitments."""
