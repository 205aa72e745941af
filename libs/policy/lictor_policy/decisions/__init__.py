"""Decision records as JSON, receipts, marks, and what runtimes can do about a decision."""
