"""Halts: operators' orders that deny every further call, and how every instance holds to them."""
