"""What an event says, and its position in the stream."""
