"""How a stream becomes states: the batch loop, its processor, the states in Redis, and timers."""
