"""`lictor agent`: agent definitions."""
