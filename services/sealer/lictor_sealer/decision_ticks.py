"""Deadlines and stage budgets: a timer in the broker for each open decision.

The fold of the logs sets it to the moment that the last entry names. When it rings, the log says what is due.
"""

from lictor_bus.ringing import Bell

BELL = Bell(kind="decision", of="decision", set_by="the sealer")
