"""Guardrails for agents, as pure functions: what gates a tool call, guides the agent, and ends its work.

`definitions` compiles an agent definition into policies, providers and a completion checker. `session` judges with
them: it decides on a question from the facts of a session, and folds the session's log into these facts. Nothing here
reads a clock or the network; only `definitions.loading` and `plugins.installed`, before any session, look at files and
installed packages. Plugin authors import from `api`.
"""

__version__ = "0.1.0"
