"""What rules over sequences of calls can do at all: `lictor agent analyze`."""
