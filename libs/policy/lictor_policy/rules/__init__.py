"""Rules made ready to run, and their texts."""
