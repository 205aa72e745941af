"""`lictor patch`: patches."""
