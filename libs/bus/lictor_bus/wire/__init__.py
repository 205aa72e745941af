"""Connections to NATS and Redis, and single messages to and from them."""
