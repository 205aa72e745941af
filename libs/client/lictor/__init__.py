"""Lictor from Python: publish what an agent does, ask before it acts, follow what is decided.

    async with lictor.connect() as governor:
        task = await governor.start_task("Migrate the importer", checkpoint_interval_s=600)
        claim = await task.claim_complete("all tests pass")
        print((await task.decision_on(claim)).decision.reason)

Names are loaded on first use, so that importing the package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lictor.adapter.blocking import SyncGuard, guard_sync
    from lictor.adapter.capabilities import AdapterCapabilities
    from lictor.adapter.inprocess import Guard
    from lictor.adapter.langchain import GuardCallbackHandler
    from lictor.adapter.tools import guarded
    from lictor.contracts import ActionDenied, DecisionRefused, GovernedDecision
    from lictor.errors import LictorError, StopBlocked, ToolDenied
    from lictor.governor import Governor
    from lictor.programs import Program
    from lictor.publishing import Published
    from lictor.session import connect

    __version__: str

__all__ = [
    "ActionDenied",
    "AdapterCapabilities",
    "DecisionRefused",
    "GovernedDecision",
    "Governor",
    "Guard",
    "GuardCallbackHandler",
    "LictorError",
    "Program",
    "Published",
    "StopBlocked",
    "SyncGuard",
    "ToolDenied",
    "__version__",
    "connect",
    "guard_sync",
    "guarded",
]

_HOME_OF = {
    "ActionDenied": "contracts",
    "AdapterCapabilities": "adapter.capabilities",
    "DecisionRefused": "contracts",
    "GovernedDecision": "contracts",
    "Governor": "governor",
    "Guard": "adapter.inprocess",
    "GuardCallbackHandler": "adapter.langchain",
    "LictorError": "errors",
    "Program": "programs",
    "Published": "publishing",
    "StopBlocked": "errors",
    "SyncGuard": "adapter.blocking",
    "ToolDenied": "errors",
    "connect": "session",
    "guard_sync": "adapter.blocking",
    "guarded": "adapter.tools",
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
