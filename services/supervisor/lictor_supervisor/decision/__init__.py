"""Governed decisions on the bus: the action gate and the contract operations."""
