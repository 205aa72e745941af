"""The trace context that a publish carries, so that a trace runs from here to the seal."""

import secrets
import sys


def traceparent() -> str:
    """The W3C `traceparent` of the active OpenTelemetry span, or else of a new trace."""
    # Looked up, not imported: a process that doesn't trace should not pay for it.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return f"00-{_nonzero_hex(16)}-{_nonzero_hex(8)}-01"


def _nonzero_hex(size: int) -> str:
    # All zeros means "no id" in a traceparent.
    while not any(number := secrets.token_bytes(size)):
        pass
    return number.hex()
