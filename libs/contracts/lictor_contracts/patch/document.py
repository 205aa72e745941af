"""Documents that patches change, as text: YAML or JSON, read without surprises, changed with their comments kept.

A change is spliced into the text where that is possible; the result is read again and must hold exactly the changed
data. Where it would not, the whole document is written anew.
"""

import difflib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import yaml

from lictor_contracts.errors import ContractError
from lictor_contracts.patch.operations import changed, pointer_parts, same
from lictor_policy.packs.strict_yaml import YamlError, read_yaml
from lictor_schema.contracts.envelope import DTE
from lictor_schema.contracts.patch import PatchOperation
from lictor_schema.core.canonical_json import CanonicalError, content_hash, parse_json
from lictor_schema.packs.pack import PolicyPack

Kind = Literal["dte", "policy_pack"]
_WIDTH = 100
# YAML takes some of these for the end of a line, and refuses others.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class PatchDocumentError(ContractError):
    """A text that is no document a patch could change."""


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """An envelope or a pack: its text, and the data it holds."""

    kind: Kind
    name: str
    """What the diff calls it, such as `no-silence/policy.yaml`."""
    text: str
    data: Any

    @property
    def content_hash(self) -> str:
        """Hash of the data: comments and layout don't count."""
        return content_hash(self.data)


def read_document(kind: Kind, name: str, text: str) -> PolicyDocument:
    """Read YAML, or JSON when the name says so."""
    try:
        data = parse_json(text) if name.endswith(".json") else read_yaml(text.encode()).data
    except (CanonicalError, YamlError, UnicodeEncodeError) as error:
        raise PatchDocumentError(f"{name}: {error}") from error
    return PolicyDocument(kind, name, text, data)


def document_of(model: DTE | PolicyPack, name: str) -> PolicyDocument:
    """The document of a model; its name says whether it is written as JSON or YAML (or can't be)."""
    data = model.model_dump(mode="json", by_alias=True)
    kind: Kind = "dte" if isinstance(model, DTE) else "policy_pack"
    return PolicyDocument(kind, name, _written(name, data), data)


def edited(document: PolicyDocument, operations: Sequence[PatchOperation]) -> PolicyDocument:
    """The document after all operations.

    A PatchConflict when one does not fit, a DocumentError when no text could hold the result.
    """
    text, data = document.text, document.data
    for operation in operations:
        data = changed(data, [operation])
        spliced = None if document.name.endswith(".json") else _spliced(text, operation)
        if spliced is None or not _holds(spliced, data):
            spliced = _written(document.name, data)
        text = spliced
    return PolicyDocument(document.kind, document.name, text, data)


def unified_diff(before: PolicyDocument, after: PolicyDocument) -> str:
    """The change of the text, as `diff -u` shows it: a line ends at a line feed, and nowhere else."""
    lines = difflib.unified_diff(
        list(io.StringIO(before.text, newline="\n")),
        list(io.StringIO(after.text, newline="\n")),
        f"a/{before.name}",
        f"b/{after.name}",
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _written(name: str, data: Any) -> str:
    if name.endswith(".json"):
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    # As people write it; where YAML would take a character for something else, with escapes.
    for allow_unicode in (True, False):
        text: str = cast(Any, yaml).dump(
            data, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=_WIDTH
        )
        if _holds(text, data):
            return text
    # Such as a number of 16 digits, which strict YAML reads as text.
    raise PatchDocumentError(f"{name}: no YAML reads back as this data; write it as JSON")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        # Equal values would become anchors, which we refuse to read.
        del data
        return True


def _holds(text: str, data: Any) -> bool:
    try:
        return same(read_yaml(text.encode()).data, data)
    except (YamlError, UnicodeEncodeError):
        return False


def _spliced(text: str, operation: PatchOperation) -> str | None:
    """The text with one change written into it; None where this writer does not know how."""
    parts = pointer_parts(operation.path)
    try:
        parent = cast(Any, yaml).compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None  # not every parser takes what the strict reader took
    for part in parts[:-1]:
        parent = _child(parent, part)
    if operation.op == "set":
        node = _child(parent, parts[-1])
        start, end = node.start_mark.index, _end(text, node)
        return text[:start] + _inline(operation.new) + text[end:]
    if parent.flow_style:
        return None
    if operation.op == "insert":
        return _inserted(text, parent, parts[-1], operation.new)
    return _removed(text, parent, parts[-1])


def _child(node: Any, part: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next(value for key, value in node.value if key.value == part)
    return node.value[int(part)]


def _inserted(text: str, parent: Any, part: str, value: Any) -> str | None:
    if not parent.value:
        return None
    if isinstance(parent, yaml.MappingNode):
        column = parent.value[0][0].start_mark.column
        at = _line_end(text, _end(text, parent.value[-1][1]))
        return _with_line(text, at, " " * column + f"{_inline(part)}: {_inline(value)}")
    column = parent.start_mark.column
    index = len(parent.value) if part == "-" else int(part)
    line = " " * column + f"- {_inline(value)}"
    if index == len(parent.value):
        return _with_line(text, _line_end(text, _end(text, parent.value[-1])), line)
    at = text.rfind("\n", 0, parent.value[index].start_mark.index) + 1
    return text[:at] + line + "\n" + text[at:]


def _removed(text: str, parent: Any, part: str) -> str | None:
    if len(parent.value) < 2:
        return None
    if isinstance(parent, yaml.MappingNode):
        first, last = next(pair for pair in parent.value if pair[0].value == part)
    else:
        first = last = parent.value[int(part)]
    start = text.rfind("\n", 0, first.start_mark.index) + 1
    return text[:start] + text[_line_end(text, _end(text, last)) :]


def _end(text: str, node: Any) -> int:
    """Where a node's own text ends: block nodes reach up to what follows them."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        end: int = node.end_mark.index
        kept = text[node.start_mark.index : end].rstrip()
        return node.start_mark.index + len(kept)
    last = node.value[-1]
    return _end(text, last[1] if isinstance(node, yaml.MappingNode) else last)


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _with_line(text: str, at: int, line: str) -> str:
    head = text[:at] if text[:at].endswith("\n") else text[:at] + "\n"
    return head + line + "\n" + text[at:]


def _inline(value: Any) -> str:
    """A value on one line: plain where that reads back the same, else as JSON, which is YAML too."""
    # Other readers must take it for text too, where they would see a date or a fraction.
    if isinstance(value, str) and _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return _NOT_IN_YAML.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)
    )
