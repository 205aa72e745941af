"""Governed decisions on the bus: the action gate, drift, patches, CERPA, the operators' desk."""
