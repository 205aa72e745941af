"""`lictor approvals`: requests listed, shown, approved, rejected."""
