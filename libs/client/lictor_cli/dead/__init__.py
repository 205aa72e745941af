"""`lictor dead`: dead letters."""
