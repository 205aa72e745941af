"""Which packs are in force in each partition, and how releases change that."""
