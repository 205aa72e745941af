"""The report and dispatch gates: a question judged as the event it proposes."""
