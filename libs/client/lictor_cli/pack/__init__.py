"""`lictor pack`: policy packs."""
