"""Guarded sessions on the bus: questions, the log, its fold, the store."""
