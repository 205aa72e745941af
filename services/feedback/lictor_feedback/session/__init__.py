"""Sessions on the bus: questions, replies, the log and its fold in Redis."""
