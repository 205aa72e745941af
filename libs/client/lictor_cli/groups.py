"""The nouns of `lictor` and their verbs: for each verb where its code is, and what `--help` says of it.

A home is a module of this package, or `module:NAME` where a module holds several verbs. It has `HELP`,
`arguments(parser)` and `run(options)`, which returns an exit code or a coroutine for one.
"""

_DECISION = """\
List decisions; show one: what was claimed, what was decided, what was done, what was really sent.

Mark it as a false alarm, or take that back; `lictor pack stats` counts false alarms by rule.
"""
_PACK = """\
Policy packs are code: checked, tested, explained, compared with what was decided, and watched.
"""
_AGENT = """\
Agent definitions say what an agent's tools are, what gates and guides it, and when its work is done.
"""
_APPROVALS = """\
Approvals: a proved program runs, and a tool call that a policy asks about is made, only when somebody who may approve
signs it. A decision is about exactly what was shown: the program, its layer and guarantees, or the call, its parameters
and files; a change of any of them makes it void.
"""
_RUNS = """\
Runs: an approved program runs once, and every effect is written down before it is made. What did not complete was
taken back as far as it could be; the rest is named. The runner runs what is approved by itself: there is no command
to run a program.
"""
_IR = """\
The Effect IR is what a program may do, laid open: every trusted call with when it happens, and every guarantee.
A certificate carries one, and the proof that its guarantees hold.
"""
_LAYER = """\
Trusted layers: what programs may call and promise, as text that an agent can be given before it writes one.
The layer is Python code that is run to learn what it declares: name only roots that you trust.
"""
_SEAL = """\
Export a sealed episode as one file, verify and read such a file without any access to a service,
or have an episode corrected, or its messages erased.
"""
_LOG = """\
The log of all seals: exported as static files, proved, checked whole, and cosigned by witnesses.
"""
_HOOK = """\
Without a command it answers one hook event of Claude Code: JSON on stdin, JSON on stdout, exit code 0;
or exit code 2 with the reason on stderr. `lictor hook --definition NAME` begins sessions with that agent definition;
`--event NAME` says which event it is for, where that can't be read. `--url URL`, or `--endpoints FILE` with the file
that a `lictor up` leaves in its user's state directory, says who judges: nothing in the workspace does then.
`--ask-s SECONDS` says that Claude Code waits so much longer for it, so that a call may wait for a person.
"""
_SESSION = """\
List guarded sessions; show one and its log; keep its state, set it back or reset it.
"""
_DRIFT = """\
Drift: decisions that did not go as their contract says, by cause. List them, show one, or move it a
step forward: new, triaged, patch_planned, patched, verified.
"""
_PATCH = """\
Patches: changes of policy packs and their envelopes that recurring drift asks for, or that somebody
proposes. They are approved by a human who did not propose them, and applied to the packs as a new version.
"""
_CLAIM = """\
Claims: statements that are relied on, with the measurable conditions they rest on. Drift of a decision type is
held against the claims about it, and so is what is measured elsewhere. What contradicts a claim opens a cycle,
which a patch (`lictor patch propose --cycle`) or a new form of the claim settles; a red one only a patch, or a
new form by somebody who does not stand for the claim.
"""
_CONTRACT = """\
Show a governed decision; approve its actions, freeze or resume it; halt or release all of them.
"""
_DEAD = """\
Dead letters: messages that a service could not process, kept whole, with the reason and the remedy.
"""
_STREAMS = """\
Everything is stored in streams of NATS. They are made, and brought up to date, when Lictor is installed or upgraded:
services may not change them.
"""
_ACCOUNT = """\
Accounts of NATS: each runtime has one of its own, all services and operators share another. Passwords are kept in a
folder; a change is read by a running server without a restart, and connections that it still permits stay.
"""

GROUPS = {
    "decision": (
        _DECISION,
        {
            "list": ("decision.list", "list the newest"),
            "show": ("decision.show", "show a decision and its receipts"),
            "mark": ("decision.mark", "mark a decision as a false alarm, or take that back"),
        },
    ),
    "pack": (
        _PACK,
        {
            "new": ("pack.new", "start a pack: one rule that works, and the examples that show it"),
            "lint": ("pack.lint", "find errors, and what is surely not meant"),
            "analyze": (
                "pack.analyze",
                "prove what rules can do: never fire, never decide, leave a state undecided",
            ),
            "test": ("pack.test", "run the examples beside each pack"),
            "publish": ("pack.publish", "sign packs and put them in force without a restart"),
            "explain": ("pack.explain", "tell why an event was decided as it was"),
            "diff": (
                "pack.diff",
                "compare packs, tell which past decisions would change, or prove that none can",
            ),
            "stats": ("pack.stats", "count what each rule did"),
            "shadow-report": (
                "pack.shadow_report",
                "tell what rules in shadow mode would have done",
            ),
            "facts": ("pack.facts", "list what rules can ask about, and what texts can mention"),
        },
    ),
    "agent": (
        _AGENT,
        {
            "lint": ("agent.lint", "find errors, and what is surely not meant"),
            "show": ("agent.show", "tell what a definition says, tool by tool"),
            "analyze": ("agent.analyze", "prove what rules over sequences of calls can do"),
            "list": ("agent.list", "list the definitions that sessions can begin with"),
            "diff": ("agent.diff", "compare two definitions"),
            "publish": (
                "agent.publish",
                "let new sessions begin with a definition, without a restart",
            ),
        },
    ),
    "approvals": (
        _APPROVALS,
        {
            "list": (
                "approvals.list",
                "list requests and where they stand, and how they were decided so far",
            ),
            "show": (
                "approvals.show",
                "show one: what a program may do, what was proved; who wants to call what, and why it is asked",
            ),
            "approve": (
                "approvals.decide:APPROVE",
                "approve a request with a private key; the program may run, or the call be made, once",
            ),
            "reject": (
                "approvals.decide:REJECT",
                "reject a request, or take back an approval before it is used",
            ),
            "edit": (
                "approvals.decide:EDIT",
                "approve a tool call with other parameters",
            ),
            "delegate": (
                "approvals.decide:DELEGATE",
                "name another approver who may decide on a tool call in your place",
            ),
            "watch": ("approvals.watch", "show requests and decisions as they come"),
            "keygen": (
                "approvals.keygen",
                "make an approver's key, and add it to a file of approvers",
            ),
            "policy": (
                "approvals.policy",
                "check an approval policy, or tell what it would say about a request",
            ),
        },
    ),
    "runs": (
        _RUNS,
        {
            "list": ("runs.list", "list runs and what became of them"),
            "show": (
                "runs.show",
                "show one: every effect with its arguments, its result, and whether it was taken back",
            ),
        },
    ),
    "ir": (
        _IR,
        {
            "analyze": (
                "ir.analyze",
                "tell which guarantees can't be kept, which are redundant, and what implies what",
            ),
            "show": ("ir.show", "print the Effect IR of a program or of a document"),
            "summary": (
                "ir.summary",
                "tell in plain words what a program may do and what is guaranteed",
            ),
            "owl": ("ir.owl", "print an OWL rendering of the Effect IR, for explanation"),
            "check": ("ir.check", "check certificates of proofs, without a solver"),
            "fetch": ("ir.fetch", "fetch the certificate of a proof from the broker"),
        },
    ),
    "layer": (
        _LAYER,
        {
            "list": ("layer.list", "list layers, and how much each offers"),
            "show": (
                "layer.show",
                "show one: functions, demands, promises, contracts, and what programs may use",
            ),
            "lint": ("layer.lint", "say what is wrong or unwise with one"),
            "test": (
                "layer.examples",
                "hold its example programs to the verdicts that they say they get",
            ),
        },
    ),
    "seal": (
        _SEAL,
        {
            "verify": ("seal.verify", "verify a bundle offline"),
            "show": ("seal.show", "tell in plain words what a bundle holds"),
            "export": ("seal.export", "write a bundle to a file"),
            "correct": ("seal.correct", "seal an episode once more, with what came late"),
            "erase": ("seal.erase", "erase messages that an episode covers"),
            "renew": (
                "seal.renew",
                "prove a bundle's episode by the newest checkpoint of an exported log",
            ),
        },
    ),
    "log": (
        _LOG,
        {
            "list": (
                "log.list",
                "list the newest sealed episodes, with the ids that `lictor seal` takes",
            ),
            "checkpoint": ("log.checkpoint", "print the log's signed head"),
            "export": (
                "log.export",
                "write the log as static files (C2SP tlog-tiles), and go on where the last export stopped",
            ),
            "prove": (
                "log.prove",
                "prove that the log of one size is a prefix of the log of another",
            ),
            "verify": (
                "log.verify",
                "check the whole log: every leaf, checkpoint, key change and tile",
            ),
            "cosign": (
                "log.cosign",
                "as a witness: cosign an exported log's head, if it follows from the last one seen",
            ),
        },
    ),
    "hook": (
        _HOOK,
        {
            "install": (
                "hook.install",
                "write the hooks into Claude Code's settings, or take them out",
            ),
        },
    ),
    "session": (
        _SESSION,
        {
            "list": ("session.list", "those that went on last, first"),
            "show": ("session.show", "how it stands"),
            "log": ("session.log", "everything that changed it"),
            "halt": ("session.halt:HALT", "deny every further call"),
            "resume": ("session.halt:RESUME", "let it go on"),
            "snapshot": ("session.state:SNAPSHOT", "keep its state"),
            "restore": ("session.state:RESTORE", "set its state back"),
            "reset": ("session.state:RESET", "forget what its policies and providers know"),
        },
    ),
    "drift": (
        _DRIFT,
        {
            "list": ("drift.list", "list drift events"),
            "show": ("drift.show", "show one, and its handling"),
            "triage": ("drift.triage", "move one a step forward"),
        },
    ),
    "patch": (
        _PATCH,
        {
            "list": ("patch.list", "list patches and where they stand"),
            "show": (
                "patch.show",
                "show one: what asks for it, its diff, and what was said about it",
            ),
            "propose": (
                "patch.propose",
                "write the change of a patch, from operations or from an edited pack",
            ),
            "approve": ("patch.decide:APPROVE", "approve exactly the change that was shown"),
            "reject": ("patch.decide:REJECT", "reject a patch; drift after that asks for another"),
            "apply": (
                "patch.apply",
                "apply an approved patch to the packs of a directory, as a new version",
            ),
        },
    ),
    "claim": (
        _CLAIM,
        {
            "add": ("claim.add", "register a claim, or a new form of one"),
            "list": ("claim.list", "list claims"),
            "measure": ("claim.measure", "tell what was measured"),
            "cycles": ("claim.cycles", "list cycles, each as it is now"),
        },
    ),
    "contract": (
        _CONTRACT,
        {
            "show": ("contract.show", "how a decision stands"),
            "approve": (
                "contract.order:APPROVE",
                "approve one exact action, or that the ladder's bypass is taken",
            ),
            "freeze": ("contract.order:FREEZE", "stop a decision until somebody resumes it"),
            "resume": (
                "contract.order:RESUME",
                "let a frozen decision go on; if its task was closed, it is sealed now",
            ),
            "halt": (
                "contract.order:HALT",
                "engage the kill-switch: every active decision freezes, and none begins",
            ),
            "release": (
                "contract.order:RELEASE",
                "release the kill-switch; frozen decisions stay frozen until each is resumed",
            ),
        },
    ),
    "streams": (
        _STREAMS,
        {
            "list": ("streams.list", "list them: what each holds, and how much"),
            "check": ("streams.check", "tell whether each is there and as it should be"),
            "apply": ("streams.apply", "make those that are missing, and bring them up to date"),
            "migrate": ("streams.migrate", "take over what version 0.1 stored"),
        },
    ),
    "dead": (
        _DEAD,
        {
            "list": ("dead.list", "list them"),
            "show": ("dead.show", "show one, with its message"),
            "replay": ("dead.replay", "publish the original messages again"),
        },
    ),
    "account": (
        _ACCOUNT,
        {
            "list": ("account.list", "list roles, and who has two passwords"),
            "add": ("account.change:ADD", "give a runtime an account"),
            "rotate": ("account.change:ROTATE", "give a role a new password beside the old one"),
            "retire": ("account.change:RETIRE", "end the old password of a role"),
            "remove": ("account.change:REMOVE", "take a runtime's account away"),
            "init": (
                "account.init",
                "make the accounts for a server that `lictor up` does not run",
            ),
        },
    ),
}
"""Noun: what `lictor NOUN --help` says, and its verbs in that order."""

HOMES = {"prove": "prove.command"}
"""Commands without verbs whose home has another name."""
