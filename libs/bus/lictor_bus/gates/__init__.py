"""Every question on the bus, declared as a gate, and what answers them."""
