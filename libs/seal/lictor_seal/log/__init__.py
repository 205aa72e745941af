"""The Merkle log: tree, tiles, checkpoints, cosignatures, key handover."""
