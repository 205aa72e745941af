"""Policy packs: the document, overlays, releases, temporal conditions."""
