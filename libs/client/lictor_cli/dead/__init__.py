"""`lictor dead`: dead letters listed, shown, replayed."""
