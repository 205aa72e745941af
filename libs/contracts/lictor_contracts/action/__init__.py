"""The Safe Action Contract: its gate, its preconditions, its verification."""
