"""`lictor approvals`: approval requests."""
