"""What should and must be said when a program sends mail."""

from lictor_layer import domain_policy

POLICY = domain_policy(
    when_used="send_mail",
    recommended=["to_contacts", "at_most(100)"],
    required=["short_texts"],
    label="mail",
)
