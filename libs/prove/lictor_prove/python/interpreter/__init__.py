"""Python programs run symbolically: statements, expressions, calls, loops."""
