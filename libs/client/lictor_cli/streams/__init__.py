"""`lictor streams`: the streams that everything is stored in."""
