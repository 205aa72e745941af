"""Orders to erase messages that an episode covers."""
