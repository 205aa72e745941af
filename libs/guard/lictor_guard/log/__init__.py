"""A session's log: its entries, its fold, its replay."""
