"""Goes through a proof, step by step, and accepts it only as a refutation of what the script asserts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lictor_ir.certificate.cpc import functions
from lictor_ir.certificate.cpc.errors import InvalidProof, NotKnown, Refused, UnknownRule
from lictor_ir.certificate.cpc.parser import Reader, Spelled, sort, spelled, symbol
from lictor_ir.certificate.cpc.rules import Rule
from lictor_ir.certificate.cpc.terms import BOOL, Term, Terms

RULES: Final[Mapping[str, Rule]] = functions.RULES
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
        self._reader = Reader(self._terms)
        self._asserted: set[Term] = set()
        self._shown: dict[str, Term] = {}
        """What each name proves, of the steps that may be relied on here."""
        self._open: list[tuple[Term, list[str]]] = []
        """Local assumptions, and the names that end with each."""
        self._rules: Counter[str] = Counter()

    def read_script(self, text: str) -> None:
        """Declarations, definitions without parameters, assertions, and one `check-sat` at the end."""
        reader = self._reader
        commands = spelled(text)
        if not commands or commands.pop() != ["check-sat"]:
            raise Refused("the script does not end with (check-sat)")
        for command in commands:
            match command:
                case ["set-info" | "set-logic", *_]:
                    pass
                case ["declare-fun", str(token), [*takes], gives]:
                    name = reader.fresh(token)
                    self._terms.declared[name] = (tuple(map(sort, takes)), sort(gives))
                    if not takes:
                        reader.defined[name] = self._terms.app(name)
                case ["define-fun", str(token), [], wanted, given]:
                    name, kind, term = reader.fresh(token), sort(wanted), reader.term(given)
                    if term.sort != kind:
                        raise Refused(f"{name} is not of the sort that is said")
                    reader.defined[name] = term
                case ["assert", given]:
                    self._asserted.add(_formula(reader.term(given)))
                case _:
                    raise Refused("it holds something that is no command of a script")

    def follow(self, text: str) -> Refutation:
        """Go through all steps; the last one must show `false` from the script's assertions alone."""
        self.step, self._reader.proof = "first", True
        match spelled(text):
            case [[*commands]]:
                shown = [self._command(command) for command in commands]
            case _:
                raise Refused("one list of steps was expected")
        self.step = "last"
        if not shown or shown[-1] is not self._terms.false or self._open:
            raise Refused("the proof does not end with false, free of local assumptions")
        return Refutation(self._rules.total(), dict(self._rules))

    def _command(self, command: Spelled) -> Term | None:
        """What the command shows, if it is a step."""
        reader = self._reader
        match command:
            case ["declare-const", str(token), given]:
                takes, gives = self._terms.declared.get(symbol(token), ((), ""))
                if given != (["->", *takes, gives] if takes else gives):
                    raise Refused("the script does not declare it so")
            case ["define", str(token), [], given]:
                term = reader.term(given)
                name = symbol(token) if symbol(token) in reader.defined else reader.fresh(token)
                if reader.defined.setdefault(name, term) is not term:
                    raise Refused(f"{name} is something else already")
            case ["assume" | "assume-push" as how, str(name), given]:
                self.step = name
                assumed = _formula(reader.term(given))
                if how == "assume-push":
                    self._open.append((assumed, []))
                elif assumed not in self._asserted:
                    raise Refused("it assumes what the script does not assert")
                self._show(name, assumed)
            case ["step" | "step-pop" as how, str(name), *rest]:
                self.step = name
                shown = self._step(rest, popping=how == "step-pop")
                self._show(name, shown)
                return shown
            case _:
                raise Refused("after it stands something that is no command of a proof")
        return None

    def _show(self, name: str, formula: Term) -> None:
        if name in self._shown:
            raise Refused("a step of this name is there already")
        self._shown[name] = formula
        if self._open:
            self._open[-1][1].append(name)

    def _step(self, rest: list[Spelled], *, popping: bool) -> Term:
        stated = rest[:1] if rest[:1] != [":rule"] else []
        names, given = list[Spelled](), list[Spelled]()
        match rest[len(stated) :]:
            case [":rule", str(rule)]:
                pass
            case [":rule", str(rule), ":premises", [*names]]:
                pass
            case [":rule", str(rule), ":args", [*given]]:
                pass
            case [":rule", str(rule), ":premises", [*names], ":args", [*given]]:
                pass
            case _:
                raise Refused("a conclusion, a rule, premises and arguments were expected")
        if rule not in RULES if not popping else rule != "scope":
            raise NotKnown(f"the rule {rule}")
        premises = [self._relied_on(name) for name in names]
        args = [self._reader.term(each) for each in given]
        follows = self._scope if popping else RULES[rule]
        shown = _formula(follows(self._terms, premises, args))
        if any(self._reader.term(each) is not shown for each in stated):
            raise Refused(f"{rule} does not show what is stated")
        self._rules[rule] += 1
        return shown

    def _relied_on(self, name: Spelled) -> Term:
        if not isinstance(name, str) or name not in self._shown:
            raise Refused("there is no such step to rely on here")
        return self._shown[name]

    def _scope(self, terms: Terms, premises: Sequence[Term], args: Sequence[Term]) -> Term:
        """The innermost local assumption implies the premise; all that was shown under it ends."""
        if len(premises) != 1 or args or not self._open:
            raise Refused("scope takes one premise, under a local assumption")
        assumed, names = self._open.pop()
        for name in names:
            del self._shown[name]
        return terms.app("=>", assumed, premises[0])


def _formula(term: Term) -> Term:
    if term.sort != BOOL:
        raise Refused(f"a formula was expected, not a {term.sort}")
    return term
