"""The HTTP adapter, for runtimes that speak neither NATS nor Python."""
