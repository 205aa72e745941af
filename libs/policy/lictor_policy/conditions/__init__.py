"""What a rule can ask: facts, conditions over time and sessions, and their analysis."""
