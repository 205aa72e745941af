"""Which contracts of a layer a program's guarantees cover."""
