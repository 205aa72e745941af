"""Rules about strings and regular expressions, and evaluation."""

from __future__ import annotations

from collections import Counter
from typing import Final

from lictor_ir.certificate.cpc.arithmetic import polynomial
from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.evaluation import evaluated
from lictor_ir.certificate.cpc.logic import flag, flattened, parts_of
from lictor_ir.certificate.cpc.rules import TABLE, Rule, rule
from lictor_ir.certificate.cpc.terms import Term, Terms, below, operands

MAX_DEPTH: Final = 100
"""Of a regular expression that is evaluated."""

RULES: Final[dict[str, Rule]] = {}


@rule(RULES, "evaluate", args=1)
def _evaluate(terms: Terms, term: Term) -> Term:
    return terms.eq(term, evaluated(terms, term))


@rule(RULES, "arith-string-pred-entail", args=1)
def _pred_entail(terms: Terms, equation: Term) -> Term:
    """A sum of lengths is not negative."""
    left, right = parts_of("=", equation)
    number, zero = parts_of(">=", left)
    if zero is not terms.integer(0) or right is not terms.true:
        raise Refused("that something is at least 0 was expected")
    for product, factor in polynomial(terms, number).items():
        if factor < 0 or any(term.op != "str.len" for term in product):
            raise Refused("a part of the sum may be negative")
    return equation


# -- concatenations --------------------------------------------------------------------------------


@rule(RULES, "concat_eq", premises=1, args=1)
def _concat_eq(terms: Terms, equation: Term, backwards: Term) -> Term:
    """Equal strings that begin (or end) with the same parts go on equally."""
    left, right = (_parts(terms, side, flag(backwards)) for side in parts_of("=", equation))
    same = 0
    while same < min(len(left), len(right)) and left[same] is right[same]:
        same += 1
    return terms.eq(*(_joined(terms, side[same:], flag(backwards)) for side in (left, right)))


@rule(RULES, "concat_unify", premises=2, args=1)
def _concat_unify(terms: Terms, equation: Term, lengths: Term, backwards: Term) -> Term:
    """The first (or last) parts of equal strings are equal if they are as long."""
    heads = [parts_of("str.len", length)[0] for length in parts_of("=", lengths)]
    for side, head in zip(parts_of("=", equation), heads, strict=True):
        if operands("str.++", side)[-1 if flag(backwards) else 0] is not head:
            raise Refused("the lengths are not those of the first parts")
    return terms.eq(*heads)


def _parts(terms: Terms, term: Term, backwards: bool) -> list[Term]:
    """The parts of a concatenation, literals character by character; from the end if backwards."""
    if term.sort != "String":
        raise Refused("strings were expected")
    parts: list[Term] = []
    for part in operands("str.++", term):
        parts += [terms.string(char) for char in str(part.value)] if part.literal else [part]
    terms.spend(len(parts))
    return parts[::-1] if backwards else parts


def _joined(terms: Terms, parts: list[Term], backwards: bool) -> Term:
    """The concatenation of parts, with literals that stand side by side as one."""
    joined: list[Term] = []
    for part in reversed(parts) if backwards else parts:
        if joined and part.literal and joined[-1].literal:
            joined[-1] = terms.string(f"{joined[-1].value}{part.value}")
        else:
            joined.append(part)
    return terms.listed("str.++", joined)


@rule(RULES, "str-ctn-multiset-subset", args=1)
def _contains_too_much(terms: Terms, equation: Term) -> Term:
    """A string does not hold what has some character more often than it, whatever they have in common is."""
    contains, value = parts_of("=", equation)
    whole, part = parts_of("str.contains", contains)
    has, needs = Counter(_pieces(terms, whole)), Counter(_parts(terms, part, backwards=False))
    rest, lacking = has - needs, needs - has
    if value is not terms.false or not all(each.literal for each in rest):
        raise Refused("what the string may hold is not known")
    if not any(each.literal for each in lacking.keys() - rest.keys()):
        raise Refused("no character is lacking")
    return equation


def _pieces(terms: Terms, root: Term) -> list[Term]:
    """Characters and other strings such that no character is more often in the string than in all of them."""
    found: list[Term] = []
    todo = [root]
    while todo:
        match (term := todo.pop()).op, term.args:
            case "str.++", parts:
                todo.extend(parts)
            case "str.substr", (text, *_):
                todo.append(text)
            case "str.replace", (text, _, new):
                todo += (text, new)
            case _:
                found += _parts(terms, term, backwards=False)
        terms.spend(1)
    return found


# -- regular expressions ---------------------------------------------------------------------------


@rule(RULES, "str-in-re-eval", args=1)
def _in_re_eval(terms: Terms, equation: Term) -> Term:
    member, value = parts_of("=", equation)
    text, regex = parts_of("str.in_re", member)
    if not isinstance(text.value, str):
        raise Refused("a literal in a regular expression was expected")
    if value is not terms.boolean(matches(terms, text.value, regex)):
        raise Refused("the match has another value")
    return equation


def matches(terms: Terms, text: str, regex: Term) -> bool:
    """Whether a regular expression over literals matches a text."""
    return len(text) in _Matching(terms, text).ends(regex, 0, 0)


class _Matching:
    """Where matches of regular expressions in one text end, by where they begin."""

    def __init__(self, terms: Terms, text: str) -> None:
        self._terms = terms
        self._text = text
        self._known: dict[tuple[Term, int], frozenset[int]] = {}

    def ends(self, regex: Term, start: int, depth: int) -> frozenset[int]:
        """All ends of matches from a start."""
        key = (regex, start)
        if key not in self._known:
            if depth > MAX_DEPTH:
                raise Refused("a regular expression is nested too deeply")
            self._terms.spend(len(self._text) + 1)
            self._known[key] = frozenset(self._ends(regex, start, depth + 1))
        return self._known[key]

    def _ends(self, regex: Term, start: int, depth: int) -> set[int] | frozenset[int]:
        text, rest = self._text, range(start, len(self._text) + 1)
        match regex.op, regex.args:
            case "str.to_re", (part,) if part.literal:
                value = str(part.value)
                return {start + len(value)} if text.startswith(value, start) else set()
            case "re.range", (low, high) if low.literal and high.literal:
                first, last = str(low.value), str(high.value)
                single = len(first) == len(last) == 1 and start < len(text)
                return {start + 1} if single and first <= text[start] <= last else set()
            case "re.allchar", ():
                return {start + 1} if start < len(text) else set()
            case "re.all", ():
                return set(rest)
            case "re.none", ():
                return set()
            case "re.++", parts:
                at = {start}
                for part in parts:
                    at = self._after(part, at, depth)
                return at
            case "re.union", parts:
                return set[int]().union(*(self.ends(part, start, depth) for part in parts))
            case "re.inter", parts:
                return set(rest).intersection(*(self.ends(part, start, depth) for part in parts))
            case "re.comp", (part,):
                return set(rest) - self.ends(part, start, depth)
            case "re.diff", (one, other):
                return self.ends(one, start, depth) - self.ends(other, start, depth)
            case "re.opt", (part,):
                return {start} | self.ends(part, start, depth)
            case "re.*", (part,):
                return self._repeated(part, {start}, depth)
            case "re.+", (part,):
                return self._repeated(part, self.ends(part, start, depth), depth)
            case (("re.^" | "re.loop"), (*times, part)):
                least, most = _times(times[0]), _times(times[-1])
                at, found = {start}, set[int]()
                for done in range(most + 1):
                    found |= at if done >= least else set()
                    at = self._after(part, at, depth)
                return found
            case _:
                raise NotKnown(f"the value of {regex.op}")

    def _after(self, part: Term, starts: set[int], depth: int) -> set[int]:
        found = [self.ends(part, start, depth) for start in starts]
        self._terms.spend(1 + sum(map(len, found)))
        return set[int]().union(*found)

    def _repeated(self, part: Term, at: set[int] | frozenset[int], depth: int) -> set[int]:
        found = set(at)
        fresh = set(at)
        while fresh:
            fresh = self._after(part, fresh, depth) - found
            found |= fresh
        return found


@rule(RULES, "re-loop-elim", args=1)
def _loop_elim(terms: Terms, equation: Term) -> Term:
    """A loop is the union of as many repetitions as it allows."""
    loop, spelled = parts_of("=", equation)
    least, most, body = parts_of("re.loop", loop)
    allowed = range(_times(least), _times(most) + 1)
    piece = flattened(terms, "re.++", body)
    terms.spend(sum(allowed) * len(piece))
    choices = operands("re.union", spelled) if len(allowed) > 1 else (spelled,)
    found = [flattened(terms, "re.++", each) for each in choices]
    if not allowed or found != [piece * times for times in allowed]:
        raise Refused("the loop is not spelled out")
    return equation


@rule(RULES, "re_unfold_pos", premises=1)
def _unfold_pos(terms: Terms, member: Term) -> Term:
    """What is in a concatenation has parts that are in its parts; each is named by the whole and its place."""
    text, regex = parts_of("str.in_re", member)
    if regex.op != "re.++":
        raise NotKnown(f"re_unfold_pos of {regex.op}")
    named: list[Term] = []
    members: list[Term] = []
    for at, part in enumerate(regex.args):
        if part.op == "str.to_re":
            named.append(part.args[0])
        else:
            named.append(terms.app("@re_unfold_pos_component", text, regex, terms.integer(at)))
            members.append(terms.app("str.in_re", named[-1], part))
    whole = terms.eq(text, terms.app("str.++", *named))
    return terms.listed("and", [whole, *members])


_LENGTHS: Final = frozenset({"re.++", "re.union", "re.inter"})


def _fixed_length(terms: Terms, regex: Term) -> Term:
    """How long all strings are that a regular expression matches."""
    known: dict[Term, int] = {}
    for each in below(regex, _LENGTHS):
        lengths = [known[part] for part in each.args] if each.op in _LENGTHS else []
        match each.op:
            case "re.allchar":
                known[each] = 1
            case "re.range" if all(len(str(end.value)) == 1 and end.literal for end in each.args):
                known[each] = 1
            case "str.to_re" if isinstance(text := each.args[0].value, str):
                known[each] = len(text)
            case "re.++":
                known[each] = sum(lengths)
            case "re.union" | "re.inter" if len(set(lengths)) == 1:
                known[each] = lengths[0]
            case _:
                raise Refused("strings of different lengths match")
    return terms.integer(known[regex])


@rule(RULES, "str-in-re-concat-star-char", args=1)
def _in_star_of_characters(terms: Terms, equation: Term) -> Term:
    """A concatenation is of such characters if each of its parts is."""
    member, split = parts_of("=", equation)
    text, star = parts_of("str.in_re", member)
    if _fixed_length(terms, parts_of("re.*", star)[0]) is not terms.integer(1):
        raise Refused("a star of single characters was expected")
    parts = [terms.app("str.in_re", part, star) for part in parts_of("str.++", text)]
    if split is not terms.listed("and", parts):
        raise Refused("the parts are not split so")
    return equation


@rule(RULES, "string_eager_reduction", args=1)
def _eager_reduction(terms: Terms, term: Term) -> Term:
    if term.op != "str.in_re":
        return TABLE["string_eager_reduction"](terms, (), (term,))
    text, regex = term.args
    length = terms.eq(terms.app("str.len", text), _fixed_length(terms, regex))
    return terms.app("=>", term, length)


def _times(term: Term) -> int:
    assert isinstance(term.value, int), "terms are built with a number here"
    return term.value
