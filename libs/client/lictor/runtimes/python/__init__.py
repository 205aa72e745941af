"""Guards for agents in Python, with asyncio and without."""
