"""`lictor layer`: trusted layers, and what they offer."""
