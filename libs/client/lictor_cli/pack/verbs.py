"""`lictor pack`: policy packs treated as code."""

HELP = """\
Policy packs are code: checked, tested, explained, compared with what was decided, and watched.
"""
VERBS = {
    "new": "start a pack: one rule that works, and the examples that show it",
    "lint": "find errors, and what is surely not meant",
    "analyze": "prove what rules can do: never fire, never decide, leave a state undecided",
    "test": "run the examples beside each pack",
    "publish": "sign packs and put them in force without a restart",
    "explain": "tell why an event was decided as it was",
    "diff": "compare packs, tell which past decisions would change, or prove that none can",
    "stats": "count what each rule did",
    "shadow-report": "tell what rules in shadow mode would have done",
    "facts": "list what rules can ask about, and what texts can mention",
}
