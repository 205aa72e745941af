"""Judging a session: begin, tool calls, stops, limits, snapshots."""
