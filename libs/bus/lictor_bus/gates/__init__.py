"""Every question that can be asked on the bus, each declared once."""
