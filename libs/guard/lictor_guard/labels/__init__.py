"""Labels: what a session has got by a call, such as `secret` by reading a file, and keeps for good."""
