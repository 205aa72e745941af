"""An event's place in the stream, and what its content says."""
