"""The symbolic machine: values, state, paths and their merging."""
