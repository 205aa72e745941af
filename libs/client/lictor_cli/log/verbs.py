"""`lictor log`: the transparency log of all seals."""

HELP = """\
The log of all seals: exported as static files, proved, checked whole, and cosigned by witnesses.
"""
VERBS = {
    "list": "list the newest sealed episodes, with the ids that `lictor seal` takes",
    "checkpoint": "print the log's signed head",
    "export": "write the log as static files (C2SP tlog-tiles), and go on where the last export stopped",
    "prove": "prove that the log of one size is a prefix of the log of another",
    "verify": "check the whole log: every leaf, checkpoint, key change and tile",
    "cosign": "as a witness: cosign an exported log's head, if it follows from the last one seen",
}
