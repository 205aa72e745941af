"""Dead."""
