"""Lictor from Python: publish what an agent does, ask before it acts, follow what is decided.

    async with lictor.connect() as governor:
        task = await governor.start_task("Migrate the importer", checkpoint_interval_s=600)
        claim = await task.claim_complete("all tests pass")
        print((await task.decision_on(claim)).decision.reason)

Names are loaded on first use, so that importing the package costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lictor.errors import LictorError, StopBlocked, ToolAsked, ToolDenied
    from lictor.event_publishing import Published
    from lictor.governed_decision import ActionDenied, DecisionRefused, GovernedDecision
    from lictor.governor import Governor
    from lictor.governor_connection import connect
    from lictor.programs import Program
    from lictor.run_results import RunReport
    from lictor.runtimes.adapter_capabilities import AdapterCapabilities
    from lictor.runtimes.langchain import GuardCallbackHandler
    from lictor.runtimes.python.async_guard import Guard
    from lictor.runtimes.python.blocking_guard import SyncGuard, guard_sync
    from lictor.runtimes.python.function_tools import guarded

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
    "RunReport",
    "StopBlocked",
    "SyncGuard",
    "ToolAsked",
    "ToolDenied",
    "__version__",
    "connect",
    "guard_sync",
    "guarded",
]

_HOME_OF = {
    "ActionDenied": "governed_decision",
    "AdapterCapabilities": "runtimes.adapter_capabilities",
    "DecisionRefused": "governed_decision",
    "GovernedDecision": "governed_decision",
    "Governor": "governor",
    "Guard": "runtimes.python.async_guard",
    "GuardCallbackHandler": "runtimes.langchain",
    "LictorError": "errors",
    "Program": "programs",
    "Published": "event_publishing",
    "RunReport": "run_results",
    "StopBlocked": "errors",
    "SyncGuard": "runtimes.python.blocking_guard",
    "ToolAsked": "errors",
    "ToolDenied": "errors",
    "connect": "governor_connection",
    "guard_sync": "runtimes.python.blocking_guard",
    "guarded": "runtimes.python.function_tools",
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
