"""Documents rewritten over scalars, as solvers take them."""
