"""Signed notes, and what is stated in them."""
