"""What each adapter can enforce of an agent definition: for whoever picks one, and for the conformance suite."""

from lictor.fast.frozen_values import Value


class AdapterCapabilities(Value):
    """What an adapter can do; what it can't, its runtime does not tell it."""

    tool_policies: bool = True
    """Every tool call is asked about before it is made."""
    feedback: bool = True
    """Advice reaches the agent after its calls, and with denials."""
    task_completion: bool = True
    """A stop is asked about, and a blocked one sends the agent back to work."""
    approvals: bool = True
    """A call that a person decides about tells its request, and is made once when it is approved."""
    structured_output: bool = True
    """An output that is handed over before the stop is answered with what it lacks."""


CLAUDE_CODE = AdapterCapabilities()
PYTHON = AdapterCapabilities()
HTTP = AdapterCapabilities()
LANGCHAIN = AdapterCapabilities(structured_output=False)
MCP = AdapterCapabilities(task_completion=False, structured_output=False)
"""MCP does not tell a server when the agent stops: a host that knows asks the stop gate itself."""
