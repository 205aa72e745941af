"""Every subject, stream and NATS user, as data."""
