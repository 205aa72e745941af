"""Time-driven feedback: a timer in the broker for each session that waits for one.

The projector sets it from what the session's log says is due. When it rings, the session's providers are run; what they
say waits for the agent's next hook.
"""

from lictor_bus.ringing import Bell

BELL = Bell(kind="guidance", of="session", set_by="the feedback service")
