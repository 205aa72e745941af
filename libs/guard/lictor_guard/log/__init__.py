"""A session's log: its fold, its replay, the ids of its entries."""
