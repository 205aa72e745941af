"""What trusted layers and agent programs are written with; docs/trusted-layers.md is the guide."""

from lictor_layer.call_context import Call, current_call
from lictor_layer.compensation import compensated_by, nothing_to_undo
from lictor_layer.contracts import contract
from lictor_layer.domain_policies import DomainPolicy, domain_policy
from lictor_layer.effect_decorators import ensures, mock, performs, requires, sets, trusted
from lictor_layer.errors import (
    ConditionError,
    DeclarationError,
    LayerError,
    NotDone,
    PostconditionError,
    PreconditionError,
)
from lictor_layer.events import Event
from lictor_layer.fluents import Fluent, fluent
from lictor_layer.guarantees import guarantee
from lictor_layer.path_literals import DirectoryPath, FilePath
from lictor_layer.path_predicates import (
    has_no_parent_segments,
    has_plain_segments,
    is_plain_path,
    is_single_path_component,
    url_has_no_parent_segments,
)
from lictor_layer.rows import Column, Row, comes_from, same_row
from lictor_layer.specs import Relation, Spec, all_of, effect, no_guarantees

__version__ = "0.1.0"

API_VERSION = "1"
"""Part of every layer's hash: a layer means something else when this changes."""

__all__ = [
    "API_VERSION",
    "Call",
    "Column",
    "ConditionError",
    "DeclarationError",
    "DirectoryPath",
    "DomainPolicy",
    "Event",
    "FilePath",
    "Fluent",
    "LayerError",
    "NotDone",
    "PostconditionError",
    "PreconditionError",
    "Relation",
    "Row",
    "Spec",
    "all_of",
    "comes_from",
    "compensated_by",
    "contract",
    "current_call",
    "domain_policy",
    "effect",
    "ensures",
    "fluent",
    "guarantee",
    "has_no_parent_segments",
    "has_plain_segments",
    "is_plain_path",
    "is_single_path_component",
    "mock",
    "no_guarantees",
    "nothing_to_undo",
    "performs",
    "requires",
    "same_row",
    "sets",
    "trusted",
    "url_has_no_parent_segments",
]
