"""A first pack: one rule that works, and the examples that show it."""

import json
import re

from lictor_policy.errors import PackError
from lictor_policy.packs.files import PACK_FILE, RESERVED
from lictor_policy.packs.pack_tests import TESTS_FILE

_PACK_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_LONGEST = 64

_POLICY = """\
apiVersion: reporting-governance/v1alpha1
kind: PolicyPack
metadata:
  id: {pack_id}
  title: {title}
  version: 1.0.0
  summary: A task reports only where somebody listens.
  owner: {owner}
  severity_default: medium
  # Which tasks the pack governs: runtimes, task_modes, workflow_shapes, channels. Empty takes any.
  applies_to: {{}}
  tags: [reporting]

spec:
  evaluation_mode: any_rule_match
  rules:
    - id: {pack_id}.unwatched-channel
      title: A task names a channel that we watch
      intent: Nobody reads a report in a channel that nobody opened.
      triggers:
        event_types: [task_started]
      # `lictor pack facts` lists what a condition can ask, and what a text can mention.
      conditions:
        not:
          fact: task.channel
          in: [telegram, terminal, operator]
      evidence_requirements: {{}}
      decision_output:
        decision: require_review
        reason: The task reports to {{{{channel}}}}, which nobody watches.
        suggested_status: awaiting_review
        required_actions:
          - action: request_review
            target: operator_channel
            mandatory: true
        operator_notice:
          required: true
          channel: operator
          urgency: medium
      operator_message_templates:
        review_required: >-
          "{{{{task_title}}}}" wants to report to {{{{channel}}}}. Please open it, or stop the task.
"""

_TESTS = """\
# Every rule needs an example in which it fires and one in which it doesn't. `payload` says only what
# differs from the usual event; the rule is judged on the last step.
kind: PolicyPackTests
pack: {pack_id}
tests:
  - title: A task that reports where nobody listens is looked at first
    rule: {pack_id}.unwatched-channel
    fires: true
    steps:
      - at: 0
        event: task_started
        payload: {{channel: pigeon-post}}
        expect:
          decision: require_review
          notice: wants to report to pigeon-post
  - title: A task that reports where we look goes on
    rule: {pack_id}.unwatched-channel
    fires: false
    steps:
      - at: 0
        event: task_started
        payload: {{channel: telegram}}
"""


def new_pack(pack_id: str, *, title: str | None = None, owner: str = "my-team") -> dict[str, str]:
    """The files of a new pack, by name."""
    if _PACK_ID.fullmatch(pack_id) is None or len(pack_id) > _LONGEST:
        raise PackError(
            f"{pack_id[:80]!r} can't be the id of a pack; use lower-case letters and digits with"
            f" single hyphens between, at most {_LONGEST} characters"
        )
    if pack_id in RESERVED:
        raise PackError(f"{pack_id} is the name of a folder with another meaning; choose another")
    words = {
        "pack_id": pack_id,
        # JSON text is YAML text in quotes, whatever is in it.
        "title": json.dumps(title or pack_id.replace("-", " ").title(), ensure_ascii=False),
        "owner": json.dumps(owner, ensure_ascii=False),
    }
    return {PACK_FILE: _POLICY.format(**words), TESTS_FILE: _TESTS.format(**words)}
