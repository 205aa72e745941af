"""Where Lictor runs on this machine, and how to reach its broker."""
