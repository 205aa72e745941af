"""The judge of a session: the tool gate, the stop gate, snapshots."""
