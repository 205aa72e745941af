"""`lictor drift`: drift."""
