"""`lictor session`: guarded sessions listed and shown, their logs and states."""
