"""Episodes, their sources and parts, erasures."""
