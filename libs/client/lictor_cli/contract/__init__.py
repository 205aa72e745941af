"""`lictor contract`: governed decisions and the kill-switch."""
