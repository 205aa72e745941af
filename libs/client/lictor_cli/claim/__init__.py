"""`lictor claim`: CERPA claims, measurements and cycles."""
