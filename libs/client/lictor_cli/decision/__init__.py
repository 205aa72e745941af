"""`lictor decision`: decisions."""
