"""What a script and a proof may be: names, scopes, literals, sizes."""

from __future__ import annotations

import pytest

from lictor_ir.certificate.cpc import InvalidProof, UnknownRule, check

SCRIPT = """
(declare-fun p () Bool) (declare-fun |q r| () Bool) (declare-fun f (Int) Int) (declare-fun i () Int)
(define-fun d () Bool (and p |q r|))
(assert d) (assert (not p)) (assert (= i 0))
(check-sat)
"""
NAMES = "(declare-const p Bool) (declare-const |q r| Bool) (declare-const f (-> Int Int)) (declare-const i Int)"
BEGUN = f"{NAMES} (assume a d) (assume b (not p))"
DEFINED = "(define d () (and p |q r|))"


def refuses(proof: str, script: str = SCRIPT) -> str:
    """Why it is refused."""
    with pytest.raises(InvalidProof) as caught:
        check(script, f"({proof})")
    return str(caught.value)


def refutes(steps: str, script: str = SCRIPT) -> bool:
    """Whether a proof with these steps is accepted, after what all of them need."""
    begun = BEGUN.replace("(assume a", f"{DEFINED} (assume a")
    try:
        check(script, f"({begun} {steps})")
    except InvalidProof:
        return False
    return True


GOOD = "(step c :rule and_elim :premises (a) :args (0)) (step e false :rule contra :premises (c b))"


def test_steps_lead_to_false() -> None:
    assert refutes(GOOD)


# -- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        "",
        "(step c :rule and_elim :premises (a) :args (0))",
        f"{GOOD} (step g :rule refl :args (p))",
        GOOD.replace("(step e false", "(step e true"),
        GOOD.replace("(c b)", "(c z)"),
        "(step e false :rule contra :premises (c b)) (step c :rule and_elim :premises (a) :args (0))",
        GOOD.replace("step e", "step c"),
        f"(assume a (not p)) {GOOD}",
        f"(step a :rule refl :args (p)) {GOOD}",
        "(assume c p) (step e false :rule contra :premises (c b))",
        "(assume c (= i 1)) (step e false :rule contra :premises (c b))",
        "(assume-push c p) (step e false :rule contra :premises (c b))",
        "(assume-push c p) (step e false :rule contra :premises (c b)) (step-pop g :rule scope :premises (e))",
        "(assume-push c p) (step-pop g :rule scope :premises (c)) (step e false :rule contra :premises (c b))",
        "(step-pop g :rule scope :premises (a))",
        "(assume-push c p) (step-pop g :rule scope :premises (c b))",
    ],
)
def test_anything_else_is_refused(steps: str) -> None:
    assert not refutes(steps)


def test_steps_of_a_scope_end_with_it_and_their_names_are_free_again() -> None:
    scope = "(assume-push c p) (step e false :rule contra :premises (c b)) (step-pop {} :rule scope :premises (e))"
    assert refutes(f"{scope.format('g')} {scope.format('h')} {GOOD}")
    assert not refutes(f"{scope.format('g')} (step k false :rule contra :premises (c b))")
    assert not refutes(
        f"{scope.format('g')} (step k false :rule reordering :premises (e) :args (false))"
    )


def test_what_is_shown_under_an_assumption_holds_under_it_only() -> None:
    scope = "(assume-push c p) (step e false :rule contra :premises (c b))"
    scope += "(step-pop g (=> p {}) :rule scope :premises (e))"
    assert refutes(f"{scope.format('false')} {GOOD}")
    assert not refutes(f"{scope.format('true')} {GOOD}")


def test_nothing_follows_the_proof() -> None:
    check(SCRIPT, f"({BEGUN.replace('(assume a', DEFINED + '(assume a')} {GOOD})")
    with pytest.raises(InvalidProof, match="one list of steps"):
        check(SCRIPT, f"({BEGUN.replace('(assume a', DEFINED + '(assume a')} {GOOD}) ()")


# -- names -----------------------------------------------------------------------------------------


def test_bars_are_no_part_of_a_name() -> None:
    script = "(declare-fun |p| () Bool) (assert p) (assert (not |p|)) (check-sat)"
    check(
        script,
        "((declare-const p Bool) (assume a |p|) (assume b (not p)) (step e :rule contra :premises (a b)))",
    )


@pytest.mark.parametrize(
    "declared",
    [
        "(declare-const p Int)",
        "(declare-const p (-> Bool Bool))",
        "(declare-const z Bool)",
        "(declare-const p Bool) (declare-const p Bool)",
        "(declare-const and Bool)",
        "(declare-const true Bool)",
        "(declare-const f Int)",
        "(define d () p)",
        "(define d () true)",
        "(define z ((x Int)) true)",
        "(define p () true)",
        "(define z () true) (define z () false)",
        "(define -1 () 1)",
        "(define 1 () 2)",
        "(define @list () true)",
        "(declare-datatype z ())",
        "(assert p)",
    ],
)
def test_names_mean_what_they_mean_in_the_script(declared: str) -> None:
    refuses(f"{declared} (assume a (not p))")


@pytest.mark.parametrize(
    "command",
    [
        "(declare-fun p () Bool)",
        "(declare-fun d () Bool)",
        "(define-fun d () Bool true)",
        "(define-fun f () Int 1)",
        "(define-fun g ((x Int)) Int x)",
        "(define-fun g () Int true)",
        "(declare-fun |and| () Bool)",
        "(declare-fun @p () Bool)",
        "(declare-fun |@purify| () Bool)",
        "(declare-fun Int () Bool)",
        "(declare-fun |1| () Int)",
        "(declare-fun |-1| () Int)",
        "(declare-fun |1/2| () Real)",
        "(declare-fun |1.5| () Real)",
        "(declare-fun |(| () Bool)",
        '(declare-fun |"a"| () String)',
        "(declare-fun |:rule| () Bool)",
        "(declare-fun |;| () Bool)",
        "(declare-fun |#b0| () Bool)",
        "(declare-fun || () Bool)",
        "(declare-fun | () Bool)",
        "(declare-fun g () RegLan)",
        "(assert i)",
        "(assert -1)",
        "(assert (= i -1))",
        "(assert (= i 1.0))",
        "(assert (and p i))",
        "(assert (or))",
        "(assert (f p))",
        "(assert (= i 01))",
        "(push 1)",
        "(check-sat)",
        "(assert (let ((p true)) p))",
        "(assert (let ((z p) (z p)) z))",
        "(assert (let ((z p)) z p))",
        "(assert",
        "(assert p",
        "assert p)",
        "(assert (= i 1/2))",
        '(assert (= "\\x" ""))',
        '(assert (= "\\u{30000}" ""))',
        '(assert (= "\\u{}" ""))',
        '(assert (= "\x01" ""))',
        '(assert (= "',
        "(assert |p)",
        "(assert (= i \u0661))",
    ],
)
def test_scripts_that_are_refused(command: str) -> None:
    script = SCRIPT.replace("(assert d)", f"{command} (assert d)")
    with pytest.raises((InvalidProof, UnknownRule)) as caught:
        check(script, "()")
    assert caught.value.step == "script"


def test_script_without_a_question_is_refused() -> None:
    with pytest.raises(InvalidProof, match="check-sat"):
        check(SCRIPT.replace("(check-sat)", ""), "()")


# -- literals --------------------------------------------------------------------------------------


def same(left: str, right: str) -> bool:
    """Whether a script's and a proof's spelling are the same term."""
    script = "(declare-fun s () String) (declare-fun x () Real) (declare-fun i () Int)"
    script += f"(assert (not {left})) (check-sat)"
    proof = f"(declare-const s String) (declare-const x Real) (declare-const i Int) (assume a (not {right}))"
    with pytest.raises(InvalidProof) as caught:
        check(script, f"({proof})")
    return caught.value.step == "last"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('(= s "a""b")', '(= s "a""b")'),
        ('(= s "\\u{61}\\u{5c}")', '(= s "a\\u{5C}")'),
        ("(= x 0.50)", "(= x 1/2)"),
        ("(= x 2.0)", "(= x 4/2)"),
        ("(= i (let ((z 1)) (let ((y z)) (+ z y))))", "(= i (+ 1 1))"),
        ("(= i 1) ; a comment", "(= i 1)"),
    ],
)
def test_spellings_of_the_same_term(left: str, right: str) -> None:
    assert same(left.replace(" ; a comment", ""), right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('(= s "a""b")', '(= s "ab")'),
        ('(= s "a ")', '(= s "a")'),
        ('(= s "A")', '(= s "a")'),
        ("(= x 2.0)", "(= x 2/3)"),
        ("(= i (- 1))", "(= i -1)"),
        ("(= i 10)", "(= i 1)"),
        ("(= i (+ 1 1))", "(= i 2)"),
        ("(= i (+ 1 (+ 2 3)))", "(= i (+ 1 2 3))"),
        ("(= i 1)", "(= 1 i)"),
    ],
)
def test_other_terms_are_other_terms(left: str, right: str) -> None:
    assert not same(left, right)


@pytest.mark.parametrize(
    "number", ["9" * 5_000, "-" + "9" * 5_000, "1/" + "9" * 5_000, "1/0", "1/00", "--1", "1.", ".5"]
)
def test_numerals_that_are_refused(number: str) -> None:
    refuses(f"{NAMES} (step a :rule refl :args ({number}))")


# -- what is not implemented -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "term",
    [
        "(forall ((x Int)) p)",
        '(@var "x" Int)',
        "(bvadd #b0 #b1)",
        "(fp.isNaN i)",
        "(_ NaN 11 53)",
        "((_ extract 1 0) i)",
        "(no_such_operator i)",
    ],
)
def test_terms_that_are_not_known_say_nothing(term: str) -> None:
    with pytest.raises((UnknownRule, InvalidProof)) as caught:
        check(SCRIPT, f"({NAMES} (step a :rule refl :args ({term})))")
    assert isinstance(caught.value, UnknownRule) or "#b0" in term or "((x" in term


def test_sorts_that_are_not_known_say_nothing() -> None:
    with pytest.raises(UnknownRule, match="the sort"):
        check("(define-fun x () (_ FloatingPoint 11 53) (fp #b0 #b1 #b1)) (check-sat)", "()")
    with pytest.raises(UnknownRule, match="the sort"):
        check("(declare-fun x () (_ FloatingPoint 11 53)) (check-sat)", "()")


# -- sizes -----------------------------------------------------------------------------------------


def test_deep_terms_are_read_without_recursion() -> None:
    deep = "(not " * 20_000 + "p" + ")" * 20_000
    script = SCRIPT.replace("(assert d)", f"(assert d) (assert {deep})")
    assert refutes(GOOD, script)


def test_deep_definitions_are_followed_without_recursion() -> None:
    lines = ["(define t0 () i)"] + [f"(define t{n + 1} () (+ t{n} 1))" for n in range(5_000)]
    equal = "(step s :rule arith_poly_norm :args ((= t5000 (+ i 5000))))"
    assert refutes(f"{' '.join(lines)} {equal} {GOOD}")
    closed = ["(define u0 () 1)"] + [f"(define u{n + 1} () (+ u{n} 1))" for n in range(5_000)]
    assert refutes(
        f"{' '.join(closed)} (step s (= u5000 5001) :rule evaluate :args (u5000)) {GOOD}"
    )


@pytest.mark.parametrize(
    ("first", "grown", "last"),
    [
        ("(+ i 1)", "(* {0} {0})", "arith_poly_norm :args ((= {0} {0}))"),
        ("2", "(* {0} {0})", "evaluate :args ({0})"),
        ("2", "(* {0} {0})", "arith_poly_norm :args ((= {0} {0}))"),
        ("3/7", "(/ {0} (/ 1/1 {0}))", "evaluate :args ({0})"),
        ('"ab"', "(str.++ {0} {0})", "evaluate :args ({0})"),
        ('"ab"', '(str.replace {0} "a" {0})', "evaluate :args ({0})"),
        ("p", "(and {0} {0})", "aci_norm :args ((= {0} p))"),
        ("re.allchar", "(re.++ {0} {0})", "re-loop-elim :args ((= (re.loop 1 2 {0}) {0}))"),
        (
            "re.allchar",
            "(re.++ {0} (re.* {0}))",
            f'str-in-re-eval :args ((= (str.in_re "{"a" * 500}" {{0}}) true))',
        ),
    ],
)
def test_terms_that_would_grow_without_bound_are_refused(first: str, grown: str, last: str) -> None:
    lines = [f"(define t0 () {first})"]
    lines += [f"(define t{n + 1} () {grown.format(f't{n}')})" for n in range(60)]
    assert not refutes(f"{' '.join(lines)} (step s :rule {last.format('t60')}) {GOOD}")


def test_let_is_followed_without_recursion() -> None:
    """In the body and in what is bound; a name is free again where its `let` ends."""
    nested = "".join(f"(let ((z{n + 1} z{n})) " for n in range(5_000))
    body = f"(let ((z0 p)) {nested} z5000{')' * 5_001}"
    inside = "".join("(let ((z " for _ in range(5_000)) + "p" + ")) z)" * 5_000
    for spelled in (body, inside):
        assert refutes(f"(step s (= {spelled} p) :rule refl :args (p)) {GOOD}")
        assert not refutes(f"(step s (= {spelled} (and p p)) :rule refl :args (p)) {GOOD}")
    assert not refutes(f"(step s (= (let ((z p)) z) z) :rule refl :args (p)) {GOOD}")


def test_deep_brackets_where_none_belong_are_refused_without_recursion() -> None:
    deep = "(" * 20_000 + ")" * 20_000
    for place in (deep, f"(step {deep})", f"(step s :rule {deep})", f"(define {deep} () p)"):
        assert not refutes(f"{place} {GOOD}")
        with pytest.raises((InvalidProof, UnknownRule)):
            check(f"{place} {SCRIPT}", "()")
    with pytest.raises(UnknownRule, match="the sort"):
        check(f"(declare-fun x () {deep}) (check-sat)", "()")
