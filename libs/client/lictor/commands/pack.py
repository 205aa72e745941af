"""`lictor pack`: policy packs treated as code."""

HELP = """\
Policy packs are code: checked, tested, explained, compared with what was decided, and watched.
"""
VERBS = {
    "facts": "list what rules can ask about, and what texts can mention",
}
