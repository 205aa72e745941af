"""Layers in clauz3's style load unchanged; its names have our meaning."""

import sys
from pathlib import Path

import pytest

from libs.prove.tests.layers_on_disk import write
from lictor_ir.types import BOOL, INT, NONE, STR, ListOf, RowOf
from lictor_layer import PostconditionError, PreconditionError
from lictor_prove import compat
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers import load_layer

SHOP = {
    "schemas": """
        import clauz3

        class ItemRow(clauz3.Row):
            sku: str
            price: int
    """,
    "events": """
        from clauz3.events import Event

        class Stock(Event):
            sku: str

        class Taken(Stock):
            amount: int
    """,
    "effects": """
        import deal
        from tools.shop.trusted.events import Taken
        from tools.shop.trusted.schemas import ItemRow

        import clauz3
        from clauz3._path_safety import is_single_path_component
        from clauz3.events import performs
        from clauz3.fluent import effect, fluent

        Open = fluent("open", key=str, value=bool, initial=False)

        @clauz3.requires(lambda shelf: is_single_path_component(shelf), message="a shelf is a name")
        @clauz3.ensures(lambda result: len(result) <= 20)
        @deal.has("read", "io")
        @clauz3.trusted
        def list_items(shelf: str) -> list[ItemRow]:
            return []

        @deal.chain(deal.has("write"), deal.pre(lambda sku, amount, *, note="": amount > 0))
        @performs(lambda sku, amount: Taken(sku, amount))
        def take(sku: str, amount: int, *, note: str = "") -> None: ...

        @clauz3.trusted()
        @clauz3.mock
        @effect(lambda shelf: Open.set(shelf, True))
        def open_shelf(shelf: str) -> None: ...

        @deal.post(lambda n: n >= 0)
        @deal.ensure(lambda sku, result: result >= 0)
        @deal.has("read")
        def left(sku: str) -> int:
            return int(sku)

        @deal.has()
        def only_computes(n: int) -> int:
            return n
    """,
    "contracts": """
        from tools.shop.trusted.effects import list_items, take

        from clauz3.spec import ConjunctionSpec, ContractSpec, contract, effect
        from clauz3.spec import no_guarantees as core_no_guarantees

        from .effects import Open

        Take = effect(take)

        @contract(description="At most {n} are taken.")
        def at_most(n: int) -> ContractSpec:
            return Take.sum(lambda e: e.amount) <= n

        @contract
        def no_guarantees() -> ContractSpec:
            return core_no_guarantees()
    """,
    "policy": """
        from clauz3.policy import domain_policy

        POLICY = domain_policy(when_used=["take", "list_items"], recommended=["at_most"])
    """,
}


def test_a_layer_in_clauz3s_style_means_what_it_says(tmp_path: Path) -> None:
    root = write(tmp_path, SHOP, "tools/shop/trusted")
    layer = load_layer([root], [tmp_path])
    assert set(layer.functions) == {"list_items", "take", "open_shelf", "left"}
    items, take = layer.functions["list_items"], layer.functions["take"]
    assert items.result == ListOf(RowOf("ItemRow"))
    assert items.markers == ("read", "io")
    assert (items.requires[0].text, len(items.ensures)) == ("a shelf is a name", 1)
    assert (take.result, take.markers, len(take.requires)) == (NONE, ("write",), 1)
    assert take.events[0].fields == {"sku": "sku", "amount": "amount"}
    assert layer.events["Taken"].kinds == ("Taken", "Stock")
    assert layer.functions["open_shelf"].updates[0].fluent == "open"
    assert (layer.fluents["open"].key, layer.fluents["open"].value) == (STR, BOOL)
    left = layer.functions["left"]
    assert left.result == INT
    assert [condition.node.args.args[-1].arg for condition in left.ensures] == ["result", "result"]
    assert layer.policies[0].label == "take / list_items"
    assert layer.policies[0].package == "tools.shop.trusted"


@pytest.mark.parametrize(
    "condition",
    [
        "clauz3.requires(lambda a, b: a > 0)",
        "clauz3.requires(lambda a: a > 0)",
        "clauz3.requires(lambda _: _.a > 0)",
        "clauz3.requires(lambda b, a=1: a > 0)",
        "deal.pre(lambda a, b=2: a > 0)",
        "deal.pre(lambda a, *, b=1: a > 0)",
        "clauz3.ensures(lambda a, result: result)",
        "clauz3.ensures(lambda a, b=1: a)",
        "deal.ensure(lambda a, b, result: result)",
    ],
)
def test_a_condition_takes_exactly_what_its_function_takes(tmp_path: Path, condition: str) -> None:
    text = f"import clauz3, deal\n\n@{condition}\n@clauz3.trusted\ndef f(a: int, b: int = 1): ..."
    with pytest.raises(ProverConfigError, match=r"effects\.py:3"):
        load_layer([write(tmp_path, {"effects": text})], [tmp_path])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@clauz3.trusted('net')\ndef f(): ...", "takes no arguments"),
        ("clauz3.solver('math.sin')", "hand-written solver model"),
        ("@deal.pure\ndef f(): ...", "pure"),
        ("@clauz3.contract()\ndef f(): ...", "description"),
    ],
)
def test_what_has_no_meaning_here_is_refused(tmp_path: Path, text: str, why: str) -> None:
    root = write(tmp_path, {"effects": f"import clauz3, deal\n{text}"})
    with pytest.raises(ProverConfigError, match=why):
        load_layer([root], [tmp_path])


def test_installed_packages_of_those_names_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    for name in ("clauz3", "deal"):
        (tmp_path / "site" / f"{name}.py").write_text("raise RuntimeError('the real one')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    installed = type(sys)("clauz3")
    monkeypatch.setitem(sys.modules, "clauz3", installed)
    load_layer([write(tmp_path, SHOP, "tools/shop/trusted")], [tmp_path])
    assert sys.modules["clauz3"] is installed
    assert "deal" not in sys.modules


def test_conditions_hold_at_run_time_too() -> None:
    modules = compat.modules()
    deal = modules["deal"]

    @deal.chain(deal.has("read"), deal.pre(lambda n: n > 0), deal.post(lambda result: result < 9))
    def twice(n: int) -> int:
        return 2 * n

    assert twice(2) == 4
    with pytest.raises(PreconditionError):
        twice(0)
    with pytest.raises(PostconditionError):
        twice(5)
