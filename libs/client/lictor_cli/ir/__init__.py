"""`lictor ir`: Effect IR documents and certificates."""
