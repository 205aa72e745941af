"""A pack as it is loaded: its own rules, those of its rule files, and those it inherits."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TypeVar

from lictor_policy.errors import PackError, nearest
from lictor_policy.packs.files import PACK_FILE, SHARED, DirectoryFiles, MemoryFiles, PackFiles
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.packs.yaml_models import ModelDocument, read_document
from lictor_policy.rules.templates import Template, TemplateError, take_in
from lictor_schema.contracts.envelope import DTE
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.decisions.decision import Severity
from lictor_schema.packs.pack import (
    V1ALPHA1,
    MessageTemplates,
    PolicyPack,
    Rule,
    RuleSet,
    TemplateSet,
    extended_fields,
)

M = TypeVar("M", bound=Model)
Part = TypeVar("Part", bound=Model)
_RULES = ("spec", "rules")
_ENVELOPES = ("spec", "envelopes")


@dataclass(frozen=True, slots=True)
class RuleOrigin:
    """Where a rule is written."""

    owner: str
    """The pack that gave the rule its id; one that overrides it doesn't own it."""
    document: ModelDocument[PolicyPack] | ModelDocument[RuleSet]
    path: Path

    def error(self, path: Path, problem: str) -> PackError:
        """An error about a field of the rule."""
        return self.document.error((*self.path, *path), problem)


@dataclass(frozen=True, slots=True)
class LoadedPack:
    """A pack ready to compile; `pack.spec.rules` are all its rules, wherever they are written."""

    pack: PolicyPack
    pack_hash: str
    document: ModelDocument[PolicyPack]
    origins: tuple[RuleOrigin, ...]
    """One for each rule."""

    @property
    def source(self) -> str:
        """The file of the pack."""
        return self.document.source

    def error(self, path: Path, problem: str) -> PackError:
        """An error that names file, line, rule and field."""
        if path[:2] == _RULES and len(path) > 2:
            return self.origins[int(path[2])].error(path[3:], problem)
        return self.document.error(path, problem)

    def with_rules(self, rules: Iterable[tuple[Rule, RuleOrigin]]) -> "LoadedPack":
        """The same pack with other rules."""
        chosen = tuple(rules)
        spec = self.pack.spec.model_copy(update={"rules": tuple(rule for rule, _ in chosen)})
        return replace(
            self,
            pack=self.pack.model_copy(update={"spec": spec}),
            origins=tuple(origin for _, origin in chosen),
        )


def load_pack(path: FilePath) -> LoadedPack:
    """Read the pack of one file, and what it takes from beside it."""
    folder = path.parent
    if path.name != PACK_FILE:
        raise PackError(f"{path}: a pack is a file named {PACK_FILE} in a folder of its own")
    return PackReader(DirectoryFiles(folder.parent)).pack(folder.name)


def read_pack(source: bytes, name: str) -> LoadedPack:
    """Read a pack that stands alone from YAML text; `name` stands for the file in errors."""
    return PackReader(MemoryFiles("", {})).compose(read_document(source, name, PolicyPack), "")


@dataclass(frozen=True, slots=True)
class PackReader:
    """Reads packs from their files, each of them once."""

    files: PackFiles
    _ready: dict[str, LoadedPack] = field(default_factory=dict[str, LoadedPack])

    def pack(self, pack_id: str, chain: tuple[str, ...] = ()) -> LoadedPack:
        """The pack of a folder; `chain` is the packs that extend each other up to it."""
        if pack_id not in self._ready:
            name = f"{pack_id}/{PACK_FILE}"
            document = read_document(self.files.read(name), self.files.said(name), PolicyPack)
            found = document.model.metadata.id
            if found != pack_id:
                raise document.error(
                    ("metadata", "id"), f"is {found}, but the folder is {pack_id}; make them equal"
                )
            self._ready[pack_id] = self.compose(document, pack_id, chain)
        return self._ready[pack_id]

    def compose(
        self, document: ModelDocument[PolicyPack], folder: str, chain: tuple[str, ...] = ()
    ) -> LoadedPack:
        """A pack with all it brings together."""
        _refuse_extensions(document)
        pack_id = document.model.metadata.id
        sets = self._files(document, folder, "rule_files", RuleSet)
        templates = self._files(document, folder, "template_files", TemplateSet)
        bases = self._bases(document, (*chain, pack_id))
        texts = _texts(templates.values())
        written = list(_written(document, sets.values()))
        inherited = _inherited(document, bases, {rule.id for rule, _ in written})
        rules: dict[str, tuple[Rule, RuleOrigin]] = {}
        for rule, origin in written:
            if rule.id in rules:
                raise origin.error(("id",), f"the id {rule.id} is used twice; ids are unique")
            known = inherited.get(rule.id)
            owned = origin if known is None else replace(origin, owner=known[1].owner)
            rules[rule.id] = (_with_texts(rule, texts, origin), owned)
        for rule_id, brought in inherited.items():
            rules.setdefault(rule_id, brought)
        _refuse_envelopes(document)
        if not rules and not document.model.spec.envelopes:
            raise document.error(_RULES, "none is left; a pack has at least one rule")
        files = {name: each.content_hash for name, each in {**sets, **templates}.items()}
        content = document.yaml.data
        if files or bases:
            hashes = [base.pack_hash for base in bases]
            content = {"pack": content, "files": files, "bases": hashes}
        loaded = LoadedPack(document.model, content_hash(content), document, ())
        return loaded.with_rules(rules.values())

    def _files(
        self, document: ModelDocument[PolicyPack], folder: str, field: str, model: type[M]
    ) -> dict[str, ModelDocument[M]]:
        found: dict[str, ModelDocument[M]] = {}
        given: tuple[str, ...] = getattr(document.model.spec, field)
        for index, listed in enumerate(given):
            path = ("spec", field, index)
            if listed in found:
                raise document.error(path, f"{listed} is named twice; name it once")
            shared = field == "template_files" and listed.startswith(f"{SHARED}/")
            name = listed if shared else f"{folder}/{listed}"
            try:
                source = self.files.read(name)
            except PackError as error:
                raise document.error(path, str(error)) from None
            found[listed] = read_document(source, self.files.said(name), model)
        return found

    def _bases(
        self, document: ModelDocument[PolicyPack], chain: tuple[str, ...]
    ) -> list[LoadedPack]:
        bases: list[LoadedPack] = []
        for index, base in enumerate(document.model.spec.extends):
            path = ("spec", "extends", index)
            if base in chain:
                told = " extends ".join((*chain[chain.index(base) :], base))
                raise document.error(path, f"goes in a circle: {told}")
            present = self.files.pack_ids()
            if base not in present:
                raise document.error(path, f"there is no pack {base}; {nearest(base, present)}")
            bases.append(self.pack(base, chain))
        return bases


def _refuse_extensions(document: ModelDocument[PolicyPack]) -> None:
    """The documented format has exactly the documented fields, also where they would say nothing."""
    if document.model.api_version == V1ALPHA1:
        paths = extended_fields(document.model, written=True)
        told = [str(document.error(path, "needs apiVersion: lictor/v1")) for path in paths]
        if told:
            raise PackError("\n".join(told))


def envelopes_of(packs: Iterable[LoadedPack]) -> dict[str, DTE]:
    """The envelopes of packs by decision type; two packs that govern the same one are refused."""
    found: dict[str, tuple[DTE, LoadedPack]] = {}
    for pack in packs:
        for index, envelope in enumerate(pack.pack.spec.envelopes):
            _, other = found.setdefault(envelope.decision_type, (envelope, pack))
            if other is not pack:
                raise pack.error(
                    (*_ENVELOPES, index, "decisionType"),
                    f"{envelope.decision_type} has an envelope in {other.source} too; keep one",
                )
    return {name: envelope for name, (envelope, _) in found.items()}


def _refuse_envelopes(document: ModelDocument[PolicyPack]) -> None:
    """Every envelope that can't be distinguished from another, or says itself which pack it comes from."""
    seen: set[str] = set()
    told: list[str] = []
    for index, envelope in enumerate(document.model.spec.envelopes):
        place = (*_ENVELOPES, index)
        name = envelope.decision_type
        if name in seen:
            problem = f"{name} has an envelope already; keep one of each decision type"
            told.append(str(document.error((*place, "decisionType"), problem)))
        seen.add(name)
        # The pack's hash covers the envelope, so nothing inside can contain it.
        if envelope.policy_pack is not None:
            problem = "can't be known inside the pack; leave it out"
            told.append(str(document.error((*place, "policyPack"), problem)))
    if told:
        raise PackError("\n".join(told))


def _written(
    document: ModelDocument[PolicyPack], sets: Iterable[ModelDocument[RuleSet]]
) -> Iterator[tuple[Rule, RuleOrigin]]:
    """The rules of the pack's own files, in their order."""
    owner = document.model.metadata.id
    for index, rule in enumerate(document.model.spec.rules):
        yield rule, RuleOrigin(owner, document, (*_RULES, index))
    for written in sets:
        for index, rule in enumerate(written.model.rules):
            yield rule, RuleOrigin(owner, written, ("rules", index))


def _inherited(
    document: ModelDocument[PolicyPack], bases: list[LoadedPack], own: set[str]
) -> dict[str, tuple[Rule, RuleOrigin]]:
    """The rules of the bases that the pack doesn't leave out; `own` are those it overrides."""
    removed = document.model.spec.remove_rules
    inherited: dict[str, tuple[Rule, RuleOrigin]] = {}
    for index, base in enumerate(bases):
        for rule, origin in zip(base.pack.spec.rules, base.origins, strict=True):
            # A rule keeps the severity it had where it was written.
            kept = _with_severity(rule, base.pack.metadata.severity_default)
            known = inherited.setdefault(rule.id, (kept, origin))
            if known[0] != kept and rule.id not in own and rule.id not in removed:
                raise document.error(
                    ("spec", "extends", index),
                    f"brings another rule {rule.id} than the base before it;"
                    " write that rule here, or name it in remove_rules",
                )
    for index, rule_id in enumerate(removed):
        if inherited.pop(rule_id, None) is None:
            raise document.error(
                ("spec", "remove_rules", index),
                f"no base has a rule {rule_id}; {nearest(rule_id, inherited)}",
            )
    return inherited


def _with_severity(rule: Rule, default: Severity) -> Rule:
    output = rule.decision_output
    if output.severity is not None:
        return rule
    severe = output.model_copy(update={"severity": default})
    return rule.model_copy(update={"decision_output": severe})


def _texts(sets: Iterable[ModelDocument[TemplateSet]]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for document in sets:
        for name, text in document.model.templates.items():
            if name in texts:
                raise document.error(
                    ("templates", name), "is in another file of the pack too; names are unique"
                )
            try:
                Template(text)
            except TemplateError as error:
                raise document.error(("templates", name), str(error)) from None
            texts[name] = text
    return texts


def _with_texts(rule: Rule, texts: Mapping[str, str], origin: RuleOrigin) -> Rule:
    """The rule with the shared texts it names put in."""

    def filled(path: Path, text: str) -> str:
        try:
            return take_in(text, texts)
        except TemplateError as error:
            raise origin.error(path, str(error)) from None

    def all_filled(path: Path, part: Part, *names: str) -> Part:
        given = {name: text for name in names if (text := getattr(part, name)) is not None}
        changed = {name: filled((*path, name), text) for name, text in given.items()}
        return part if changed == given else part.model_copy(update=changed)

    at = ("decision_output",)
    output = all_filled(at, rule.decision_output, "reason")
    if output.operator_notice is not None:
        told = all_filled((*at, "operator_notice"), output.operator_notice, "message")
        output = output.model_copy(update={"operator_notice": told})
    at = ("operator_message_templates",)
    templates = all_filled(at, rule.operator_message_templates, *MessageTemplates.model_fields)
    return rule.model_copy(
        update={"decision_output": output, "operator_message_templates": templates}
    )
