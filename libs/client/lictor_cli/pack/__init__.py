"""`lictor pack`: packs linted, tested, explained, compared, published."""
