"""Policy packs: files, documents, overlays, releases, lint, tests, diff."""
