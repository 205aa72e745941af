"""Each rule that is a function: what it shows, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lictor_ir.certificate.cpc import InvalidProof, UnknownRule, check
from lictor_ir.certificate.cpc.kernel import RULES
from lictor_ir.certificate.cpc.rules import TABLE

DECLARED = {
    **dict.fromkeys(("p", "q", "r", "s"), "Bool"),
    **dict.fromkeys(("i", "j", "k"), "Int"),
    **dict.fromkeys(("x", "y"), "Real"),
    **dict.fromkeys(("a", "b", "c"), "String"),
}


SCRIPT = (
    "".join(f"(declare-fun {name} () {sort})" for name, sort in DECLARED.items()) + "(check-sat)"
)


def shown(rule: str, premises: str, args: str, conclusion: str) -> bool:
    """Whether a step is accepted that states this conclusion, under premises that are local assumptions."""
    assumed = _split(premises)
    names = " ".join(f"@p{at}" for at in range(len(assumed)))
    proof = [
        *(f"(declare-const {name} {sort})" for name, sort in DECLARED.items()),
        *(f"(assume-push @p{at} {formula})" for at, formula in enumerate(assumed)),
        f"(step @shown {conclusion} :rule {rule} :premises ({names}) :args ({args}))",
    ]
    with pytest.raises((InvalidProof, UnknownRule)) as caught:
        check(SCRIPT, f"({' '.join(proof)})")
    if isinstance(caught.value, UnknownRule) and "in this form" not in caught.value.rule:
        raise caught.value
    assert caught.value.step in ("@shown", "last"), caught.value
    return caught.value.step == "last"


def _split(formulas: str) -> list[str]:
    found: list[str] = []
    depth, begun = 0, 0
    for at, char in enumerate(formulas + " "):
        depth += (char == "(") - (char == ")")
        if char == " " and not depth:
            if formulas[begun:at].strip():
                found.append(formulas[begun:at].strip())
            begun = at
    return found


RIGHT = """
resolution | (or p q) (or (not p) r) | true p | (or q r)
resolution | (or (not p) q) (or p r) | false p | (or q r)
resolution | p (not p) | true p | false
resolution | (or p q) (not (or p q)) | true (or p q) | false
chain_resolution | (or p q) (not p) (not q) | (@list true true) (@list p q) | false
chain_resolution | (or p q r) (not p) (or (not q) s) | (@list true true) (@list p q) | (or r s)
chain_m_resolution | (or p q) (not p) | q (@list true) (@list p) | q
chain_m_resolution | (or p q) (not p) | (or r q) (@list true) (@list p) | (or r q)
reordering | (or p q r) | (or r q p) | (or r q p)
and_intro | p q | | (and p q)
and_elim | (and p q) | 1 | q
not_or_elim | (not (or p q)) | 0 | (not p)
not_and | (not (and p q)) | | (or (not p) (not q))
cnf_and_pos | | (and p q) 0 | (or (not (and p q)) p)
cnf_and_neg | | (and p q) | (or (and p q) (not p) (not q))
cnf_or_pos | | (or p q) | (or (not (or p q)) p q)
cnf_or_neg | | (or p q) 1 | (or (or p q) (not q))
process_scope | (=> p (=> q r)) | r | (=> (and p q) r)
process_scope | (=> p (=> q false)) | false | (not (and p q))
process_scope | (=> p false) | false | (not p)
symm | (= i j) | | (= j i)
symm | (not (= a b)) | | (not (= b a))
trans | (= i j) (= j k) | | (= i k)
cong | (= i j) | (< 1 i) | (= (< 1 i) (< 1 j))
cong | (= i j) (= k i) | (< i k) | (= (< i k) (< j i))
nary_cong | (= i j) (= k i) | (+ i k) | (= (+ i k) (+ j i))
aci_norm | | (= (and p (and q p) true) (and q p)) | (= (and p (and q p) true) (and q p))
aci_norm | | (= (str.++ a (str.++ "" b) c) (str.++ a b c)) | (= (str.++ a (str.++ "" b) c) (str.++ a b c))
aci_norm | | (= (or p false) p) | (= (or p false) p)
absorb | | (= (or p true) true) | (= (or p true) true)
absorb | | (= (and p (and q false)) false) | (= (and p (and q false)) false)
arith_poly_norm | | (= (* 2 (+ i j)) (+ j i j i)) | (= (* 2 (+ i j)) (+ j i j i))
arith_poly_norm | | (= (* i (- j k)) (- (* j i) (* k i))) | (= (* i (- j k)) (- (* j i) (* k i)))
arith_poly_norm | | (= (to_real (+ i 1)) (+ 1 (to_real i))) | (= (to_real (+ i 1)) (+ 1 (to_real i)))
arith_poly_norm_rel | (= (* 2 (- i j)) (* 1 (- k 4))) | (= (< i j) (< k 4)) | (= (< i j) (< k 4))
arith_poly_norm_rel | (= (* 2 (- i j)) (* 3 (- k 4))) | (= (= i j) (= k 4)) | (= (= i j) (= k 4))
arith_sum_ub | (< i 1) (<= j 2) | | (< (+ i j) (+ 1 2))
arith_sum_ub | (= i 1) (<= j 2) | | (<= (+ i j) (+ 1 2))
arith_mult_pos | | 2 (< i j) | (=> (and (> 2 0) (< i j)) (< (* 2 i) (* 2 j)))
arith_mult_neg | | k (> i j) | (=> (and (< k 0) (> i j)) (< (* k i) (* k j)))
arith_trichotomy | (not (< i j)) (not (= i j)) | | (> i j)
arith_trichotomy | (>= i j) (<= i j) | | (= i j)
int_tight_ub | (< i 3) | | (<= i 2)
int_tight_lb | (> i 3) | | (>= i 4)
evaluate | | (+ 1 2) | (= (+ 1 2) 3)
evaluate | | (str.++ "a" "b") | (= (str.++ "a" "b") "ab")
evaluate | | (ite (< 1 2) "a" "b") | (= (ite (< 1 2) "a" "b") "a")
str-in-re-eval | | (= (str.in_re "ab" (re.* (str.to_re "ab"))) true) | (= (str.in_re "ab" (re.* (str.to_re "ab"))) true)
re-loop-elim | | (= (re.loop 1 2 re.allchar) (re.union re.allchar (re.++ re.allchar re.allchar))) |\
 (= (re.loop 1 2 re.allchar) (re.union re.allchar (re.++ re.allchar re.allchar)))
""".strip().splitlines()

WRONG = """
resolution | (or p q) (or p r) | true p | (or q r)
resolution | (or p q) (or (not p) r) | false p | (or q r)
resolution | (or p q) (or (not p) r) | true p | q
resolution | (or p q) | true p | q
resolution | (or p q) (not p) | i p | q
chain_resolution | (or p q) (not p) (not q) | (@list true) (@list p) | false
chain_resolution | (or p q) (not p) | (@list true true) (@list p q) | false
chain_m_resolution | (or p q) (not p) | r (@list true) (@list p) | r
chain_m_resolution | (or p q) (not p) | false (@list true) (@list p) | false
chain_m_resolution | (or p q) (not r) | q (@list true) (@list p) | q
reordering | (or p q r) | (or p q) | (or p q)
reordering | p | (or q r) | (or q r)
and_intro | p q | | (and p r)
and_elim | (and p q) | 2 | q
and_elim | (and p q) | -1 | q
and_elim | (or p q) | 0 | p
not_or_elim | (not (and p q)) | 0 | (not p)
not_or_elim | (or p q) | 0 | (not p)
not_and | (not (or p q)) | | (or (not p) (not q))
cnf_and_pos | | (or p q) 0 | (or (not (or p q)) p)
cnf_and_neg | | (and p q) | (or (and p q) (not p))
cnf_or_pos | | (or p q) | (or (not (or p q)) p)
cnf_or_neg | | (and p q) 1 | (or (and p q) (not q))
process_scope | (=> p q) | r | (=> p r)
process_scope | (=> p (=> q false)) | false | (not p)
symm | (not (not (= i j))) | | (not (not (= j i)))
symm | (< i j) | | (< j i)
trans | (= i j) (= k i) | | (= i k)
trans | (= i j) (< j k) | | (< i k)
cong | (= j i) | (< 1 i) | (= (< 1 i) (< 1 j))
cong | (= i j) | (< i 1) | (= (< i 1) (< j 1))
cong | (= i j) (= 1 1) (= 1 1) | (< i 1) | (= (< i 1) (< j 1))
nary_cong | (= i j) | (+ k i) | (= (+ k i) (+ k j))
nary_cong | (= i j) (= k i) | (+ k i) | (= (+ k i) (+ i j))
aci_norm | | (= (and p q) (and p r)) | (= (and p q) (and p r))
aci_norm | | (= (and p q) (or p q)) | (= (and p q) (or p q))
aci_norm | | (= (str.++ a b) (str.++ b a)) | (= (str.++ a b) (str.++ b a))
aci_norm | | (= (str.++ a a) a) | (= (str.++ a a) a)
aci_norm | | (= (+ i i) i) | (= (+ i i) i)
aci_norm | | (= p q) | (= p q)
aci_norm | | (= "a" "") | (= "a" "")
aci_norm | | (= 1 2) | (= 1 2)
aci_norm | | (= true false) | (= true false)
absorb | | (= true false) | (= true false)
absorb | | (= (or p false) false) | (= (or p false) false)
absorb | | (= (and p true) true) | (= (and p true) true)
absorb | | (= (or p (and q true)) true) | (= (or p (and q true)) true)
arith_poly_norm | | (= (* 2 i) (+ i j)) | (= (* 2 i) (+ i j))
arith_poly_norm | | (= (/ i j) (* i (/ 1 j))) | (= (/ i j) (* i (/ 1 j)))
arith_poly_norm | | (= (/ 1/1 0/1) 0/1) | (= (/ 1/1 0/1) 0/1)
arith_poly_norm_rel | (= (* 0 (- i j)) (* 0 (- k 4))) | (= (= i j) (= k 4)) | (= (= i j) (= k 4))
arith_poly_norm_rel | (= (* 2 (- i j)) (* -1 (- k 4))) | (= (< i j) (< k 4)) | (= (< i j) (< k 4))
arith_poly_norm_rel | (= (* 2 (- i j)) (* 1 (- k 4))) | (= (< i j) (<= k 4)) | (= (< i j) (<= k 4))
arith_poly_norm_rel | (= (* 2 (- j i)) (* 1 (- k 4))) | (= (< i j) (< k 4)) | (= (< i j) (< k 4))
arith_poly_norm_rel | (= (* k (- i j)) (* k (- k 4))) | (= (= i j) (= k 4)) | (= (= i j) (= k 4))
arith_sum_ub | (< i 1) (>= j 2) | | (< (+ i j) (+ 1 2))
arith_sum_ub | (<= i 1) (<= j 2) | | (< (+ i j) (+ 1 2))
arith_mult_pos | | 2 (< i j) | (=> (and (> 2 0) (< i j)) (> (* 2 i) (* 2 j)))
arith_mult_pos | | k (< i j) | (< (* k i) (* k j))
arith_mult_neg | | k (> i j) | (=> (and (< k 0) (> i j)) (> (* k i) (* k j)))
arith_trichotomy | (not (< i j)) (not (= i j)) | | (< i j)
arith_trichotomy | (not (< i j)) (not (= j i)) | | (> i j)
arith_trichotomy | (< i j) (not (= i j)) | | (> i j)
arith_trichotomy | (not (<= i j)) (not (= i j)) | | (< i j)
int_tight_ub | (< i 3) | | (<= i 1)
int_tight_ub | (<= i 3) | | (<= i 2)
int_tight_ub | (< x 3/1) | | (<= x 2)
int_tight_ub | (< i j) | | (<= i j)
int_tight_lb | (> i 3) | | (>= i 5)
int_tight_lb | (> x 3/1) | | (>= x 4)
arith_reduction | | (div_total i 0) | (= (div_total i 0) 0)
evaluate | | (+ 1 2) | (= (+ 1 2) 4)
evaluate | | (div 1 0) | (= (div 1 0) 0)
str-in-re-eval | | (= (str.in_re "a" (str.to_re "b")) true) | (= (str.in_re "a" (str.to_re "b")) true)
str-in-re-eval | | (= (str.in_re a (str.to_re "b")) false) | (= (str.in_re a (str.to_re "b")) false)
re-loop-elim | | (= (re.loop 1 2 re.allchar) re.allchar) | (= (re.loop 1 2 re.allchar) re.allchar)
re-loop-elim | | (= (re.loop 2 1 re.allchar) re.allchar) | (= (re.loop 2 1 re.allchar) re.allchar)
""".strip().splitlines()


def _joined(lines: Sequence[str]) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str, str, str]] = []
    for line in "\n".join(lines).replace("\\\n", "").splitlines():
        rule, premises, args, conclusion = (part.strip() for part in line.split("|"))
        rows.append((rule, premises, args, conclusion))
    return rows


@pytest.mark.parametrize(("rule", "premises", "args", "conclusion"), _joined(RIGHT))
def test_rule_shows(rule: str, premises: str, args: str, conclusion: str) -> None:
    assert shown(rule, premises, args, conclusion)
    assert not shown(rule, premises, args, f"(not {conclusion})")
    assert not shown(rule, f"{premises} p", args, conclusion) or rule == "and_intro"
    assert not shown(rule, premises, f"{args} p", conclusion)


@pytest.mark.parametrize(("rule", "premises", "args", "conclusion"), _joined(WRONG))
def test_rule_does_not_show(rule: str, premises: str, args: str, conclusion: str) -> None:
    assert not shown(rule, premises, args, conclusion)


def test_every_rule_that_is_a_function_is_tried_both_ways() -> None:
    functions = {name for name, rule in RULES.items() if rule is not TABLE.get(name)}
    assert functions <= {row[0] for row in _joined(RIGHT)} <= RULES.keys()
    assert functions <= {row[0] for row in _joined(WRONG)} <= RULES.keys()


@pytest.mark.parametrize("rule", ["trust", "instantiate", "skolemize", "no_such_rule", "scope"])
def test_rule_that_is_not_implemented_says_nothing(rule: str) -> None:
    with pytest.raises(UnknownRule) as caught:
        shown(rule, "p", "q", "q")
    assert rule in caught.value.rule
    assert caught.value.step == "@shown"
