"""Lictor from Python: publish what an agent does, ask before it acts, follow what is decided.

    async with lictor.connect() as governor:
        task = await governor.start_task("Migrate the importer", checkpoint_interval_s=600)
        claim = await task.claim_complete("all tests pass")
        print((await task.decision_on(claim)).decision.reason)

Names are loaded on first use, so that importing the package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lictor.errors import LictorError
    from lictor.governor import Governor
    from lictor.publishing import Published
    from lictor.session import connect

    __version__: str

__all__ = ["Governor", "LictorError", "Published", "__version__", "connect"]

_HOME_OF = {
    "Governor": "governor",
    "LictorError": "errors",
    "Published": "publishing",
    "connect": "session",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("lictor-client")
    elif name in _HOME_OF:
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
