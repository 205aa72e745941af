"""The canonical JSON form of documents."""
