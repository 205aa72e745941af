"""What a session's tool policies, providers and checkers remember."""
