"""What a tool policy, a feedback provider and a completion checker are, and how installed ones are found."""
