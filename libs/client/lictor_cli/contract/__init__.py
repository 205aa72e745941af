"""`lictor contract`: governed decisions shown, approved, frozen; the kill-switch."""
