"""`lictor claim`: CERPA claims and cycles."""
