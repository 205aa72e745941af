"""An episode: what it covers, how it is assembled, when it is sealed."""
