"""`lictor account`: the accounts and passwords of NATS."""
