"""`lictor ir`: the Effect IR of programs."""

HELP = """\
The Effect IR is what a program may do, laid open: every trusted call with when it happens, and every guarantee.
"""
VERBS = {
    "analyze": "tell which guarantees can't be kept, which are redundant, and what implies what",
    "show": "print the Effect IR of a program or of a document",
}
