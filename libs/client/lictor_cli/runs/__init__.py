"""`lictor runs`: runs."""
