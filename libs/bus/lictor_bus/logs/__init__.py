"""What is read from and appended to the streams, one module for each kind of entry."""
