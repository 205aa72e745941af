"""The Merkle log: tree, tiles, checkpoints, consistency, change of keys."""
