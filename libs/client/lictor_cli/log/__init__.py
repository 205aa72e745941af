"""`lictor log`: the Merkle log."""
