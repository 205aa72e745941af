"""What is stored on which stream, one module a noun."""
