"""Packs as files: loaded, linted, tested, compared, bundled, released."""
