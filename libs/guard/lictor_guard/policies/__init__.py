"""The built-in tool policies: each is made from its part of an agent definition."""
