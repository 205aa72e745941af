"""What a program's calls become: atoms in order, with guards, loops, labels, demands and promises."""

from __future__ import annotations

import time

import pytest

from libs.prove.tests.python_front_end import HEAD, LAYER, USER, atoms, program, read
from lictor_ir.contracts import All, Anything, Count
from lictor_ir.document import ObligationKind, Span
from lictor_ir.terms import (
    FALSE,
    TRUE,
    Const,
    Term,
    and_,
    apply,
    column,
    const,
    eq,
    not_,
    result,
    var,
)
from lictor_ir.types import BOOL, INT, STR, ListOf, RowOf
from lictor_prove.errors import Rejected
from lictor_prove.python import read_program

A, S, P = var("a", INT), var("s", STR), var("p", BOOL)
USERS = result("c1", ListOf(RowOf("UserRow")))


def sent(body: str, parameters: str = "") -> list[tuple[object, Term]]:
    """The values of notes, which are known here, and when they are made."""
    found: list[tuple[object, Term]] = []
    for atom in atoms(body, parameters):
        noted = atom.arguments["value"]
        found.append((noted.value if isinstance(noted, Const) else noted, atom.guard))
    return found


# -- atoms -----------------------------------------------------------------------------------------


def test_calls_become_atoms_in_order() -> None:
    found = atoms("send('a@x', 'one')\npay(3)\nsend(addr='b@x', msg='two')")
    assert [(atom.id, atom.effect) for atom in found] == [
        ("c1", "send"),
        ("c2", "pay"),
        ("c3", "send"),
    ]
    assert found[2].arguments == {"addr": const("b@x"), "msg": const("two")}


def test_keyword_arguments_are_recorded_in_the_order_of_parameters() -> None:
    (atom,) = atoms("send(msg='two', addr='b@x')")
    assert list(atom.arguments) == ["addr", "msg"]


def test_omitted_argument_is_not_recorded() -> None:
    (atom,) = atoms("pay(3)")
    assert set(atom.arguments) == {"amount"}


def test_arguments_are_evaluated_before_the_call() -> None:
    found = atoms("send(text(), text())")
    assert [atom.effect for atom in found] == ["text", "text", "send"]
    assert found[2].arguments == {"addr": result("c1", STR), "msg": result("c2", STR)}


def test_atom_tells_where_it_stands() -> None:
    (atom,) = atoms("send('é',\n     's')")
    first = HEAD.count("\n") + 4
    assert atom.span == Span(first, 5, first + 1, 14)


def test_labels_tell_whence_arguments_come() -> None:
    found = atoms("for row in users():\n    send(row.email, s)", "s: str")
    assert found[1].labels == {"addr": ("c1.email",), "msg": ("input:s",)}


def test_small_int_is_passed_as_the_equal_float() -> None:
    (atom,) = atoms("pay_float(5)")
    assert atom.arguments["amount"] is const(5.0)


def test_list_is_recorded_as_it_is_when_it_is_passed() -> None:
    found = atoms("xs = ['a']\ntags(xs)\nxs.append('b')\ntags(xs)")
    assert found[0].arguments["values"] is apply("list", const("a"))
    assert found[1].arguments["values"] is apply("list", const("a"), const("b"))


def test_empty_list_fits_a_list_of_strings() -> None:
    (atom,) = atoms("tags([])")
    assert atom.arguments["values"] is apply("list")


def test_value_that_may_be_none_must_not_be_where_a_string_is_declared() -> None:
    document = read(program("x = s if p else None\nsend(x, 'm')", "s: str, p: bool"))
    assert document.atoms[0].arguments["addr"] is S
    assert [each.formula for each in document.obligations] == [P]


def test_event_and_fluent_are_recorded() -> None:
    document = read(program("lock(s)", "s: str"))
    (atom,) = document.atoms
    assert [(each.event, dict(each.fields)) for each in atom.events] == [("Locked", {"where": S})]
    assert [(each.fluent, each.key, each.value) for each in atom.updates] == [("locked", S, TRUE)]
    assert [each.name for each in document.events] == ["Locked"]
    assert [each.name for each in document.fluents] == ["locked"]
    assert document.effects[0].markers == ("doors",)


# -- guards ----------------------------------------------------------------------------------------


def test_branch_is_a_guard() -> None:
    body = "if p:\n    note(1)\nelse:\n    note(2)\nnote(3)"
    assert sent(body, "p: bool") == [(1, P), (2, not_(P)), (3, TRUE)]


def test_known_condition_is_no_branch() -> None:
    assert sent("if 1 < 2:\n    note(1)\nelse:\n    note(2)") == [(1, TRUE)]


def test_return_guards_what_follows() -> None:
    assert sent("if p:\n    return\nnote(1)", "p: bool") == [(1, not_(P))]


def test_after_branches_that_both_go_on_nothing_is_left_of_them() -> None:
    body = "if p:\n    x = 1\nelse:\n    x = 2\nif a > 0:\n    note(x)"
    assert sent(body, "p: bool, a: int")[0][1] is apply("lt", const(0), A)


def test_nested_guards_are_one_conjunction() -> None:
    body = "if p:\n    if a == 1:\n        note(1)"
    assert sent(body, "p: bool, a: int") == [(1, and_(P, eq(A, const(1))))]


def test_short_circuit_is_a_guard() -> None:
    assert sent("p and note(1)\np or note(2)", "p: bool") == [(1, P), (2, not_(P))]


def test_unreachable_call_is_no_atom() -> None:
    assert sent("return\nnote(1)") == []
    assert sent("raise ValueError\nnote(1)") == []


# -- loops -----------------------------------------------------------------------------------------


def test_loop_over_rows_has_a_binder() -> None:
    found = atoms("for row in users():\n    send(row.email, 'm')")
    (binder,) = found[1].binders
    assert binder.over is USERS
    assert found[1].arguments["addr"] is column(apply("at", USERS, binder.index), "email", STR)


def test_result_in_a_loop_is_a_function_of_its_index() -> None:
    found = atoms("for row in users():\n    note(number())")
    index = found[1].binders[0].index
    assert found[2].arguments["value"] is result("c2", INT, [index])


def test_nested_loops_have_their_binders_in_order() -> None:
    found = atoms("for row in users():\n    for name in names():\n        note(name)")
    outer, inner = found[2].binders
    assert outer.over is USERS
    assert inner.over is result("c2", ListOf(STR), [outer.index])


def test_condition_and_continue_in_a_loop_are_guards() -> None:
    found = atoms("for row in users():\n    if row.active:\n        continue\n    note(1)")
    index = found[1].binders[0].index
    active = column(apply("at", USERS, index), "active", BOOL)
    assert found[1].guard is not_(active)


def test_filtered_comprehension_is_a_guard_of_the_loop_over_it() -> None:
    found = atoms("xs = [r.email for r in users() if r.active]\nfor x in xs:\n    note(x)")
    index = found[1].binders[0].index
    row = apply("at", USERS, index)
    assert found[1].guard is column(row, "active", BOOL)
    assert found[1].arguments["value"] is column(row, "email", STR)


def test_index_is_not_called_like_an_input() -> None:
    found = atoms("for row in users():\n    note(i1)", "i1: int")
    assert found[1].binders[0].index.name != "i1"


def test_known_loop_is_unrolled() -> None:
    found = atoms("for i in range(3):\n    note(i)")
    assert [atom.arguments["value"] for atom in found] == [const(0), const(1), const(2)]
    assert all(atom.binders == () for atom in found)


# -- demands and promises --------------------------------------------------------------------------


def test_precondition_is_an_obligation_of_its_call() -> None:
    document = read(program("if p:\n    pay(a, False)", "p: bool, a: int"))
    (demand,) = document.obligations
    assert demand.kind == ObligationKind.PRECONDITION
    assert demand.call == "c1"
    assert demand.guard is P
    assert demand.formula is apply("le", const(0), A)


def test_precondition_reads_the_default_of_an_omitted_argument() -> None:
    assert read(program("pay(a)", "a: int")).obligations == ()


def test_postcondition_is_an_assumption() -> None:
    document = read(program("if p:\n    users()", "p: bool"))
    (promise,) = document.assumptions
    assert promise.call == "c1"
    assert promise.guard is P
    assert promise.formula is apply("le", apply("len", USERS), const(3))


def test_what_may_raise_is_an_obligation_and_no_assumption() -> None:
    document = read(program("note(1 // a)\nnote(2)", "a: int"))
    assert [each.formula for each in document.obligations] == [not_(eq(A, const(0)))]
    assert document.atoms[1].guard is TRUE


def test_what_the_path_says_need_not_be_shown() -> None:
    assert read(program("if a != 0:\n    note(1 // a)", "a: int")).obligations == ()


def test_raise_is_an_obligation_that_it_is_not_reached() -> None:
    (demand,) = read(program("if p:\n    raise ValueError('no')", "p: bool")).obligations
    assert (demand.formula, demand.guard) == (FALSE, P)


def test_assertion_is_an_obligation() -> None:
    (demand,) = read(program("assert p", "p: bool")).obligations
    assert (demand.kind, demand.formula) == (ObligationKind.ASSERTION, P)


def test_obligation_in_a_loop_has_its_binders() -> None:
    document = read(program("for row in users():\n    note(1 // row.age)"))
    (demand,) = document.obligations
    assert demand.binders == document.atoms[1].binders


# -- modules, rows and guarantees ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from tools.desk.trusted.effects import note as n\n", "n(1)"),
        ("from tools.desk.trusted import effects\n", "effects.note(1)"),
        ("import tools.desk.trusted.effects as fx\n", "fx.note(1)"),
        ("import tools.desk.trusted.effects\n", "tools.desk.trusted.effects.note(1)"),
        (
            "from tools import desk\nimport tools.desk.trusted.effects\n",
            "desk.trusted.effects.note(1)",
        ),
    ],
)
def test_imports_are_resolved_to_the_layer(imports: str, call: str) -> None:
    document = read(f"{imports}\ndef main() -> None:\n    {call}\n")
    assert [atom.effect for atom in document.atoms] == ["note"]


def test_constant_of_the_layer_can_be_read() -> None:
    document = read(
        "from tools.desk.trusted.effects import LIMIT, note\ndef main():\n    note(LIMIT)\n"
    )
    assert document.atoms[0].arguments["value"] is const(7)


def test_name_is_folded_as_python_folds_it() -> None:
    assert len(atoms("\uff4e\uff4f\uff54\uff45(1)")) == 1


def test_look_alike_is_another_name() -> None:
    name = "n\u043ete"  # a Cyrillic letter
    assert len(atoms(f"{name} = lambda x: x\n{name}(1)\nnote(2)")) == 1


def test_shadowed_trusted_function_is_no_effect() -> None:
    assert atoms("note = lambda x: x\nnote(1)") == ()


def test_module_literals_are_shared_by_functions() -> None:
    before = "LIMITS = [1, 2]\ndef grow():\n    LIMITS.append(3)\n"
    (atom,) = atoms("grow()\nnote(LIMITS)", before=before)
    assert atom.arguments["value"] is apply("list", const(1), const(2), const(3))


def test_row_class_of_the_program_is_a_schema() -> None:
    before = "class Item(lictor_layer.Row):\n    '''A thing.'''\n    name: str\n    price: float\n"
    document = read(program("for row in rows_of(Item, 't'):\n    note(row.name)", before=before))
    assert [schema.name for schema in document.schemas] == ["Item"]
    assert document.atoms[0].arguments == {"table": const("t")}
    rows = result("c1", ListOf(RowOf("Item")))
    assert document.atoms[1].binders[0].over is rows


def test_row_class_of_the_program_does_not_take_the_layer_s_name() -> None:
    before = "class Row2(lictor_layer.Row):\n    a: int\n"
    document = read(program("for u in users():\n    note(u)", before=before))
    assert document.schemas == (USER,)
    source = HEAD.replace("from tools.desk.trusted.rows import UserRow\n", "") + (
        "class UserRow(lictor_layer.Row):\n    email: str\n"
        "def main():\n    for row in rows_of(UserRow, 't'):\n        note(row.email)\n"
    )
    with pytest.raises(Rejected, match="a row class of the layer"):
        read(source)


def test_row_is_taken_apart() -> None:
    (atom,) = atoms("u = UserRow(email=s, age=1, active=True)\nnote(u.email)", "s: str")
    assert atom.arguments["value"] is S


def test_guarantees_are_built_from_literals() -> None:
    stated = (
        "@lictor_layer.guarantee(c.only(['a@x', 'b@x']))\n"
        "@lictor_layer.guarantee(c.at_most(n=3))\n"
        "@lictor_layer.guarantee(c.comes_from(UserRow, 'email'))\n"
        "@lictor_layer.guarantee(c.exactly(lictor_layer.FilePath('x.md')))\n"
        "@lictor_layer.guarantee(c.nothing())"
    )
    document = read(program("pass", guarantee=stated))
    kinds = [type(each.contract) for each in document.guarantees]
    assert kinds == [All, Count, All, All, Anything]
    first = document.guarantees[0]
    assert first.name == "only(['a@x', 'b@x'])"
    assert first.description == "only holds."
    assert first.span is not None
    assert first.span.line == HEAD.count("\n") + 2
    assert [effect.name for effect in document.effects] == ["send"]
    assert document.schemas == (USER,)


@pytest.mark.parametrize(
    "head",
    [
        "from lictor_layer import guarantee as g\nfrom tools.desk.trusted.contracts import only as o\n@g(o([]))\n",
        "import clauz3 as z\nfrom tools.desk.trusted import contracts as k\n@z.guarantee(k.only([]))\n",
    ],
)
def test_guarantee_is_recognised_by_what_it_is(head: str) -> None:
    document = read(f"{head}def main() -> None:\n    pass\n")
    assert [each.name for each in document.guarantees] == ["only([])"]


def test_guarantee_is_told_by_what_things_are_and_not_by_what_a_program_calls_them() -> None:
    """Whoever approves it would take `Rejected as Approved` for what it is called."""
    document = read(
        program(
            "pass",
            before="import tools.desk.trusted.rows as approved\n"
            "from lictor_layer import FilePath as DirectoryPath\n"
            "from tools.desk.trusted.rows import UserRow as Approved\n",
            guarantee="@lictor_layer.guarantee(c.comes_from(Approved, column='email'))\n"
            "@lictor_layer.guarantee(c.comes_from(approved.UserRow, 'email'))\n"
            "@lictor_layer.guarantee(c.exactly(path=DirectoryPath('x.md')))",
        )
    )
    assert [each.name for each in document.guarantees] == [
        "comes_from(UserRow, column='email')",
        "comes_from(UserRow, 'email')",
        "exactly(path=FilePath('x.md'))",
    ]


def test_local_name_does_not_change_a_guarantee() -> None:
    body = "c = 1\nonly = lambda xs: True\nnote(c)"
    document = read(program(body, guarantee="@lictor_layer.guarantee(c.only([]))"))
    assert isinstance(document.guarantees[0].contract, All)


def test_program_without_guarantees_is_read() -> None:
    assert read("def main() -> None:\n    pass\n").guarantees == ()


def test_inputs_are_the_parameters() -> None:
    document = read(program("pass", "a: int, s: 'str', p: bool, f: float"))
    assert [(each.name, str(each.type)) for each in document.inputs] == [
        ("a", "int"),
        ("s", "str"),
        ("p", "bool"),
        ("f", "float"),
    ]


def test_other_target_can_be_named() -> None:
    source = HEAD + "def job():\n    note(1)\n"
    document = read_program(source, name="x", target="job", layer=LAYER)
    assert (document.target, len(document.atoms)) == ("job", 1)


def test_same_program_gives_the_same_document() -> None:
    source = program(
        "for row in users({'a': 1}):\n    if row.age > 3:\n        note({row.email, 'x'})"
    )
    assert read(source) == read(source)


def test_thousand_effects_are_read_quickly() -> None:
    source = program("\n".join(f"send('a{n}@x', 'hi')" for n in range(1000)))
    begun = time.process_time()
    document = read(source)
    assert len(document.atoms) == 1000
    # Far above what it takes, for slow machines; by our own time, for busy ones.
    assert time.process_time() - begun < 5
