"""`lictor patch`: changes of packs that drift asks for, from proposal to application."""

HELP = """\
Patches: changes of policy packs and their envelopes that recurring drift asks for, or that somebody
proposes. They are approved by a human who did not propose them, and applied to the packs as a new version.
"""
VERBS = {
    "list": "list patches and where they stand",
    "show": "show one: what asks for it, its diff, and what was said about it",
    "propose": "write the change of a patch, from operations or from an edited pack",
    "approve": "approve exactly the change that was shown",
    "reject": "reject a patch; drift after that asks for another",
    "apply": "apply an approved patch to the packs of a directory, as a new version",
}
