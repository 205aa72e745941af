"""`lictor ir`: Effect IR documents shown, summarised, analysed; certificates checked."""
