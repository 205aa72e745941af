"""What is read back from the streams: events, decisions, sessions, episodes, and their replay."""
