"""Which packs are in force in each partition, and how a release takes effect."""
