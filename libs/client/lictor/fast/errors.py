"""The root of our errors, and the one that a hook can raise; loaded when something is wrong."""


class LictorError(Exception):
    """Root of every error this library raises on purpose."""


class NoStateDirectory(LictorError):
    """There is no place outside of workspaces to keep anything for this user."""
