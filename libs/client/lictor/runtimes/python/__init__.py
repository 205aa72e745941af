"""Guards for tools that are Python functions, asynchronous and blocking."""
