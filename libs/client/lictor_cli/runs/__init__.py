"""`lictor runs`: what approved programs did."""
