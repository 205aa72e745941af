"""Streams of version 0.1, made into those of today: the same messages, under subjects that carry the runtime."""
