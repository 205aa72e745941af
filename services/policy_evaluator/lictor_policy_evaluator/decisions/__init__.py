"""Decision records looked up; receipts and marks about them."""
