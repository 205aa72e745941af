"""Terminal output that commands share: tables, progress, failures, interruption."""
