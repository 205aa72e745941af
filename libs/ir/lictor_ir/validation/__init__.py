"""Whether a document is well formed."""
