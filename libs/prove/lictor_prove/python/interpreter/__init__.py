"""Statements and expressions of a program, executed symbolically."""
