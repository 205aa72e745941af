"""`lictor approvals`: proved programs that wait for somebody to let them run."""

HELP = """\
Approvals: a proved program runs only when somebody who may approve signs it. A decision is about exactly the
program, the trusted layer and the guarantees that were shown; a change of any of them makes it void.
"""
VERBS = {
    "list": "list requests and where they stand, and how they were decided so far",
    "show": "show one: what the program may do, what was proved, what was left unsaid",
    "approve": "approve a request with a private key; the program may run once",
    "reject": "reject a request, or take back an approval before the program starts",
    "watch": "show requests and decisions as they come",
    "keygen": "make an approver's key, and add it to a file of approvers",
    "policy": "check an approval policy, or tell what it would say about a request",
}
