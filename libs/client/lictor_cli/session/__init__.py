"""`lictor session`: guarded sessions."""
