"""Feedback as the agent reads it: one XML-style block for each.

    <feedback provider="deadline" severity="warning">
    Time worked: 5 minutes. Time left before the deadline: 1 minute.

    • category: description (evidence: what shows it)

    → Finish what matters most first.
    </feedback>

Providers quote what tools returned, so no text may end its block or open another: markup is escaped, and characters
that a reader can't see are shown by their code.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from xml.sax.saxutils import escape

from lictor_guard.text.wording import in_words
from lictor_schema.core.time import SECOND_US, to_micros
from lictor_schema.sessions.feedback import Observation, StampedFeedback

MAX_TEXT = 32_768
"""The longest text that is handed to an agent at once, in characters."""
# Below this age, advice that waited for a hook is as good as new.
_OLD_US = 5 * SECOND_US
# Everything that hides, reorders or breaks the layout of a text, but for line feed and tab.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)


def render(feedback: Iterable[StampedFeedback], now_us: int) -> str:
    """All of it as one text, blocks apart by a blank line; what does not fit is counted at the end."""
    shown: list[str] = []
    left_out = 0
    # Keeps room for the line that counts the others.
    room = MAX_TEXT - 100
    for each in feedback:
        details = _details(each)
        block = _block(each, details, now_us)
        if len(block) + 2 > room and details:
            block = _block(each, ["(details left out: the text would be too long)"], now_us)
        if len(block) + 2 > room:
            left_out += 1
            continue
        room -= len(block) + 2
        shown.append(block)
    if left_out:
        shown.append(f"({left_out} more left out: the text would be too long)")
    return "\n\n".join(shown)


def _details(feedback: StampedFeedback) -> list[str]:
    observations = "\n".join(_observation(each) for each in feedback.observations)
    suggestions = "\n".join(f"→ {_shown(each)}" for each in feedback.suggestions)
    return [part for part in (observations, suggestions) if part]


def _block(feedback: StampedFeedback, details: Sequence[str], now_us: int) -> str:
    age_us = now_us - _micros(feedback.raised_at)
    raised = f' raised="{in_words(age_us)} ago"' if age_us >= _OLD_US else ""
    opening = f'<feedback provider="{_attribute(feedback.provider)}" severity="{feedback.severity}"'
    body = "\n\n".join((_shown(feedback.summary), *details))
    return f"{opening}{raised}>\n{body}\n</feedback>"


def _observation(observation: Observation) -> str:
    text = f"• {_shown(observation.category)}: {_shown(observation.description)}"
    if observation.evidence:
        text += f" (evidence: {_shown(observation.evidence)})"
    return text


def _shown(text: str) -> str:
    return escape(visible(text))


def _attribute(text: str) -> str:
    return escape(visible(text), {'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def visible(text: str) -> str:
    """The text with every character that can't be seen written as its code, such as `\\u001b`."""
    return _INVISIBLE.sub(_code, text.replace("\r\n", "\n"))


def _code(found: re.Match[str]) -> str:
    point = ord(found.group())
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _micros(moment: str) -> int:
    return to_micros(datetime.fromisoformat(moment))
