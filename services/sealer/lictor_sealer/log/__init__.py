"""The sealer's Merkle log and its stream."""
