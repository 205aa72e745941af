"""Whether a document is well formed: its parts, terms and contracts."""
