"""What the streams hold, read back: decisions, sessions, episodes, replays."""
