"""The report and dispatch gates: a message or a dispatch judged before it happens."""
