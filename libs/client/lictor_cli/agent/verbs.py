"""`lictor agent`: agent definitions treated as code."""

HELP = """\
Agent definitions say what an agent's tools are, what gates and guides it, and when its work is done.
"""
VERBS = {
    "lint": "find errors, and what is surely not meant",
    "show": "tell what a definition says, tool by tool",
    "list": "list the definitions that sessions can begin with",
    "diff": "compare two definitions",
    "publish": "let new sessions begin with a definition, without a restart",
}
