"""A proof's verdict in lines for a person."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lictor.commands.output import counted, printable
from lictor_schema import CoverageReport, CoverageStatus, ProofStrength

_IMPOSSIBLE = {
    "impossible": "no program can keep it",
    "only_trivial": "it can be kept only by doing nothing that it speaks of",
}


def told(document: Mapping[str, Any], source: Sequence[str]) -> Iterator[str]:
    """What was found about one program."""
    yield f"{document['verdict']:<9} {printable(document['file'])}  ({document['ms']:.0f} ms)"
    for guarantee in document["guarantees"]:
        yield from _guarantee(guarantee)
    if not document["guarantees"] and document["verdict"] == "proved":
        yield "    no guarantee is stated: the program may do whatever its trusted calls allow"
    if document["verdict"] == "proved" and not document.get("executable", True):
        yield from _cannot_run(document.get("cannot_run"))
    if document["verdict"] != "rejected" and document["layer_hash"] is None:
        yield "    no trusted layer: what its calls demand and promise is the document's own word"
    for broken in document.get("broken") or ():
        yield from _broken(broken, source)
    if document["verdict"] == "rejected" or not (document["guarantees"] or document.get("broken")):
        for reason in document["reasons"]:
            yield from _reason(reason, source)
    yield from _analysis(document.get("analysis"))
    yield from _coverage(document.get("coverage"))
    yield from _certificate(document)
    yield from _goals(document.get("smtlib"))


def _cannot_run(never: Mapping[str, Any] | None) -> Iterator[str]:
    if never is None or never["code"] == "program.descriptive":
        yield "    this is a description: it tells what happens, and nothing runs it"
        return
    yield f"    can't be approved or run: {printable(never['message'])}  [{never['code']}]"
    yield f"        to do: {printable(never['remedy'])}"


def _guarantee(guarantee: Mapping[str, Any]) -> Iterator[str]:
    required = guarantee.get("required_by") or guarantee.get("required")
    by = " (required by the layer)" if required else ""
    strength = guarantee.get("strength")
    holds = f": {ProofStrength(strength).words}" if strength else ""
    yield f"    {guarantee['verdict']:<9} {printable(guarantee['name'])}{by}{holds}"
    if guarantee["verdict"] == "unknown" and guarantee.get("reason"):
        yield f"        {printable(guarantee['reason'])}"
    yield from _run(guarantee.get("counterexample"))


def _broken(broken: Mapping[str, Any], source: Sequence[str]) -> Iterator[str]:
    kind = str(broken["kind"]).replace("_", " ")
    yield f"    {broken['verdict']:<9} {kind}: {printable(broken['text'])}"
    yield from _place(broken.get("line"), None, source)
    yield from _run(broken.get("counterexample"))


def _run(counterexample: str | None) -> Iterator[str]:
    for line in (counterexample or "").splitlines():
        shown = printable(line)
        indent = len(line) - len(line.lstrip())
        yield f"        {' ' * indent}{shown}"


def _reason(reason: Mapping[str, Any], source: Sequence[str]) -> Iterator[str]:
    yield f"    {printable(reason['message'])}  [{reason['code']}]"
    yield from _place(reason.get("line"), reason.get("column"), source)
    yield f"        to do: {printable(reason['remedy'])}"


def _place(line: int | None, column: int | None, source: Sequence[str]) -> Iterator[str]:
    """The line of the program, with a mark below the place."""
    if line is None or not 0 < line <= len(source):
        return
    text = source[line - 1]
    shown = text.replace("\t", " ")
    if not shown.isprintable() or len(shown) > 200:
        yield f"      {line:>4} | {printable(text, 200)}"
        return
    yield f"      {line:>4} | {shown}"
    if column is not None and 0 < column <= len(shown) + 1:
        yield f"           | {' ' * (column - 1)}^"


def _analysis(analysis: Mapping[str, Any] | None) -> Iterator[str]:
    for standing in (analysis or {}).get("standings", ()):
        name = printable(standing["name"])
        if standing["possibility"] in _IMPOSSIBLE:
            yield f"    {standing['possibility']}  {name}: {_IMPOSSIBLE[standing['possibility']]}"
        elif standing["vacuous"]:
            yield f"    vacuous  {name}: the program never does what it speaks of"
        if standing["redundant"]:
            others = ", ".join(map(printable, standing["implied_by"]))
            yield f"    redundant  {name}: {f'implied by {others}' if others else 'it holds of every program'}"


def _coverage(coverage: Mapping[str, Any] | None) -> Iterator[str]:
    if coverage is None:
        return
    for domain in CoverageReport.from_json(json.dumps(coverage)).domains:
        if domain.status.loudness > CoverageStatus.COVERED_BY_ENTAILMENT.loudness:
            yield f"    {domain.status.value}  {printable(f'{domain.domain}: {domain.told()}')}"


def _certificate(document: Mapping[str, Any]) -> Iterator[str]:
    here = document.get("certificate")
    if here is None:
        if document.get("certificate_hash"):
            yield f"    certificate  level {document['certificate_level']}: {document['certificate_hash']}"
    elif "missing" in here:
        yield f"    no certificate: {printable(here['missing'])}"
    else:
        yield f"    certificate  level {here['level']}: {printable(here['file'])}"


def _goals(written: Mapping[str, Any] | None) -> Iterator[str]:
    if written is None or written["folder"] is None:
        return
    here = [each for each in written["goals"] if each["missing"] is None]
    yield f"    smtlib  {counted(len(here), 'goal')} in {printable(written['folder'])}"
    for each in written["goals"]:
        if each["missing"] is not None:
            yield f"        {each['goal']} can't be written: {printable(each['missing'])}"
