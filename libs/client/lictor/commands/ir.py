"""`lictor ir`: the Effect IR of programs."""

HELP = """\
The Effect IR is what a program may do, laid open: every trusted call with when it happens, and every guarantee.
"""
VERBS = {
    "show": "print the Effect IR of a program or of a document",
    "summary": "tell in plain words what a program may do and what is guaranteed",
    "owl": "print an OWL rendering of the Effect IR, for explanation",
}
