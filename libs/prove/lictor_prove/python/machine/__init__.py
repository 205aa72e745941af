"""The symbolic machine: its values, its state, its paths and how they merge."""
