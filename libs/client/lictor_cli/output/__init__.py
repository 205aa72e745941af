"""What commands write: tables, progress, failures, interruptions."""
