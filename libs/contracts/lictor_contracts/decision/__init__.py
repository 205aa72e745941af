"""A governed decision: the fold of its log, its outcome, the kill-switch."""
