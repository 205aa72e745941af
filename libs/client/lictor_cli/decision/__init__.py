"""`lictor decision`: decisions listed, shown, marked as false alarms."""
