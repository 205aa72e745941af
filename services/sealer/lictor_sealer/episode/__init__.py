"""What an episode is made of: its closing, records, sources and outcome."""
