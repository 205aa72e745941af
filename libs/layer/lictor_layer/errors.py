"""The errors of this library; every message says what was wrong, and what to do."""


class LayerError(Exception):
    """Root of every error that lictor_layer raises on purpose."""


class DeclarationError(LayerError, TypeError):
    """A layer declares something that has no meaning."""


class ConditionError(LayerError, ValueError):
    """A condition of a trusted function does not hold."""


class PreconditionError(ConditionError):
    """A trusted function was called with arguments it refuses; its body did not run."""


class PostconditionError(ConditionError):
    """A trusted function returned what it promised not to return; its effect has happened."""


class NotDone(LayerError):
    """Raised by a trusted function that had no effect: the runner takes its word, and undoes only what was before.

    Whatever else a trusted function raises leaves its effect in doubt.
    """
