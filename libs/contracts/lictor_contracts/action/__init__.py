"""Actions of a governed decision: the gate's judgement, idempotency, verification."""
