"""What is known of a session, fact by fact."""
