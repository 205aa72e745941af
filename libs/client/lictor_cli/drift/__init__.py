"""`lictor drift`: drift listed, shown, triaged."""
