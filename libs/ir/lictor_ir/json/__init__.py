"""The JSON form of Effect IR: read strictly, written, and its schema."""
