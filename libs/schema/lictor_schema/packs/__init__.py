"""Policy packs, overlays, temporal conditions, releases."""
