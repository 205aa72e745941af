"""`lictor prove`: proofs of programs."""
