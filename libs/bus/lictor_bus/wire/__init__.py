"""Speaking to NATS and Redis: connections, publishing, pulling, reading."""
