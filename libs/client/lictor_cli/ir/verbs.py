"""`lictor ir`: the Effect IR of programs, and certificates of what was proved about it."""

HELP = """\
The Effect IR is what a program may do, laid open: every trusted call with when it happens, and every guarantee.
A certificate carries one, and the proof that its guarantees hold.
"""
VERBS = {
    "analyze": "tell which guarantees can't be kept, which are redundant, and what implies what",
    "show": "print the Effect IR of a program or of a document",
    "summary": "tell in plain words what a program may do and what is guaranteed",
    "owl": "print an OWL rendering of the Effect IR, for explanation",
    "check": "check certificates of proofs, without a solver",
    "fetch": "fetch the certificate of a proof from the broker",
}
