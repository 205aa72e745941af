"""Hook."""
