"""`lictor prove`: programs proved here, or submitted."""
