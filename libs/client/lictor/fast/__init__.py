"""What `lictor hook` may load: the light part of the standard library, and nothing else of ours."""
