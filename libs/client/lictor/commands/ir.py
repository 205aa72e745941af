"""`lictor ir`: the Effect IR of programs, and certificates of what was proved about it."""

HELP = """\
The Effect IR is what a program may do, laid open: every trusted call with when it happens, and every guarantee.
A certificate carries one, and the proof that its guarantees hold.
"""
VERBS = {
    "show": "print the Effect IR of a program or of a document",
    "check": "check certificates of proofs, without a solver",
    "fetch": "fetch the certificate of a proof from the broker",
}
