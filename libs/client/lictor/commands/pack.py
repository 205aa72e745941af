"""`lictor pack`: policy packs treated as code."""

HELP = """\
Policy packs are code: checked, tested, explained, compared with what was decided, and watched.
"""
VERBS = {
    "diff": "compare packs, and tell which past decisions would change",
    "stats": "count what each rule did",
    "shadow-report": "tell what rules in shadow mode would have done",
    "facts": "list what rules can ask about, and what texts can mention",
}
