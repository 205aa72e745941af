"""The Merkle log in the stream EPISODES."""
