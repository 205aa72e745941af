"""A governed decision: the fold of its log, what may happen next, how it ends."""
