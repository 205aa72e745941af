"""Goes through a proof, step by step, and accepts it only as a refutation of what the script asserts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lictor_ir.certificate.cpc import arithmetic, logic, strings
from lictor_ir.certificate.cpc.errors import InvalidProof, NotKnown, Refused, UnknownRule
from lictor_ir.certificate.cpc.reading import Reader
from lictor_ir.certificate.cpc.rules import TABLE, Rule
from lictor_ir.certificate.cpc.terms import Term, Terms

RULES: Mapping[str, Rule] = {
    **TABLE,
    **logic.RULES,
    **arithmetic.RULES,
    **strings.RULES,
}
"""Every rule that is implemented. `scope` and the assumptions are the kernel's own."""


@dataclass(frozen=True, slots=True)
class Refutation:
    """What was gone through: how many steps, and how often each rule."""

    steps: int
    rules: Mapping[str, int]


def check(script: str, proof: str) -> Refutation:
    """The refutation that the proof is of the script's assertions; raises UnknownRule or InvalidProof."""
    checking = _Checking(len(script) + len(proof))
    try:
        checking.read_script(script)
        return checking.follow(proof)
    except Refused as why:
        raise InvalidProof(checking.step, str(why)) from None
    except NotKnown as what:
        raise UnknownRule(str(what), checking.step) from None


class _Checking:
    def __init__(self, characters: int) -> None:
        self.step = "script"
        """Where we are, for messages."""
        self._terms = Terms(characters)
        self._asserted: set[Term] = set()
        self._script_names: dict[str, Term] = {}
        self._shown: dict[str, Term] = {}
        """What each name proves, of the steps that may be relied on here."""
        self._open: list[tuple[Term, list[str]]] = []
        """Local assumptions, and the names that end with each."""
        self._rules: Counter[str] = Counter()

    # -- the script ------------------------------------------------------------------------------

    def read_script(self, text: str) -> None:
        """Declarations, definitions without parameters, assertions, and one `check-sat` at the end."""
        reader = Reader(self._terms, text, proof=False)
        asked = False
        while not reader.done:
            reader.expect("(")
            match reader.next():
                case _ if asked:
                    raise Refused("something follows (check-sat)")
                case "set-info" | "set-logic":
                    reader.skip()
                    continue
                case "declare-fun":
                    name = reader.fresh()
                    reader.expect("(")
                    takes: list[str] = []
                    while not reader.sees(")"):
                        takes.append(reader.sort())
                    self._declare(reader, name, tuple(takes), reader.sort())
                case "define-fun":
                    name = reader.fresh()
                    reader.expect("(")
                    reader.expect(")")
                    sort, term = reader.sort(), reader.term()
                    if term.sort != sort:
                        raise Refused(f"{name} is a {sort}, and its definition is a {term.sort}")
                    reader.define(name, term)
                case "assert":
                    self._asserted.add(_formula(reader.term()))
                case "check-sat":
                    asked = True
                case other:
                    raise Refused(f"the command {other[:40]} is not expected in a script")
            reader.expect(")")
        if not asked:
            raise Refused("the script does not end with (check-sat)")
        self._script_names = reader.defined

    def _declare(self, reader: Reader, name: str, takes: tuple[str, ...], gives: str) -> None:
        self._terms.declared[name] = (takes, gives)
        if not takes:
            reader.define(name, self._terms.app(name))

    # -- the proof -------------------------------------------------------------------------------

    def follow(self, text: str) -> Refutation:
        """Go through all steps; the last one must show `false` from the script's assertions alone."""
        self.step = "first"
        reader = Reader(self._terms, text, proof=True)
        reader.expect("(")
        last = None
        while not reader.sees(")"):
            reader.expect("(")
            last = self._command(reader)
            reader.expect(")")
        self.step = "last"
        if not reader.done:
            raise Refused("something follows the proof")
        if last is not self._terms.false or self._open:
            raise Refused("the proof does not end with false, free of local assumptions")
        return Refutation(self._rules.total(), dict(self._rules))

    def _command(self, reader: Reader) -> Term | None:
        """What the command shows, if it is a step."""
        command, name = reader.next(), ""
        if command in ("declare-const", "define"):
            name = reader.fresh(declared=command == "declare-const")
            term = self._constant(reader, name) if command == "declare-const" else _macro(reader)
            if term is None:
                return None
            if self._script_names.get(name, term) is not term:
                raise Refused(f"{name} is something else in the script")
            reader.define(name, term)
            return None
        self.step = name = reader.next()
        if command in ("assume", "assume-push"):
            formula = _formula(reader.term())
            if command == "assume-push":
                self._open.append((formula, []))
            elif formula not in self._asserted:
                raise Refused("it assumes what the script does not assert")
            self._show(name, formula)
            return None
        if command not in ("step", "step-pop"):
            raise Refused(f"the command {command[:40]} is not expected in a proof")
        shown = self._step(reader, popping=command == "step-pop")
        self._show(name, shown)
        return shown

    def _show(self, name: str, formula: Term) -> None:
        if name in self._shown:
            raise Refused("a step of this name is there already")
        self._shown[name] = formula
        if self._open:
            self._open[-1][1].append(name)

    def _constant(self, reader: Reader, name: str) -> Term | None:
        """A declaration, which must be the script's: `Int`, or `(-> Int Int)`."""
        sorts: list[str] = []
        if reader.sees("("):
            reader.expect("->")
            while not reader.sees(")"):
                sorts.append(reader.sort())
        else:
            sorts.append(reader.sort())
        if not sorts or self._terms.declared.get(name) != (tuple(sorts[:-1]), sorts[-1]):
            raise Refused(f"the script does not declare {name} so")
        return self._terms.app(name) if len(sorts) == 1 else None

    def _step(self, reader: Reader, *, popping: bool) -> Term:
        stated = None if reader.sees(":rule") else reader.term()
        if stated is not None:
            reader.expect(":rule")
        rule = reader.next()
        premises = self._premises(reader) if reader.sees(":premises") else []
        args = reader.terms() if reader.sees(":args") else []
        if popping:
            shown = self._scope(rule, premises, args)
        elif (known := RULES.get(rule)) is not None:
            shown = _formula(known(self._terms, premises, args))
        else:
            raise NotKnown(f"the rule {rule}")
        if stated is not None and stated is not shown:
            raise Refused(f"{rule} does not show what is stated")
        self._rules[rule] += 1
        return shown

    def _premises(self, reader: Reader) -> list[Term]:
        reader.expect("(")
        found: list[Term] = []
        while not reader.sees(")"):
            name = reader.next()
            if name not in self._shown:
                raise Refused(f"there is no step {name[:40]} to rely on here")
            found.append(self._shown[name])
        return found

    def _scope(self, rule: str, premises: list[Term], args: list[Term]) -> Term:
        """The innermost local assumption implies the premise; all that was shown under it ends."""
        if rule != "scope":
            raise NotKnown(f"the rule {rule} at the end of an assumption")
        if len(premises) != 1 or args or not self._open:
            raise Refused("scope takes one premise, under a local assumption")
        assumed, names = self._open.pop()
        for name in names:
            del self._shown[name]
        return self._terms.app("=>", assumed, premises[0])


def _macro(reader: Reader) -> Term:
    reader.expect("(")
    reader.expect(")")
    return reader.term()


def _formula(term: Term) -> Term:
    if term.sort != "Bool":
        raise Refused(f"a formula was expected, not a {term.sort}")
    return term
