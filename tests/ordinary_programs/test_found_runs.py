"""Runs that a search finds among those of the real program: to a call that hangs on values nobody can say, and against
a guarantee that no solver decides.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import prove
from lictor_prove.proof.result import Proof
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.rehearsal.comparison import DIFFERS
from lictor_prove.rehearsal.orders import Observation, StageOrder
from lictor_prove.rehearsal.plan import Plan
from lictor_prove.rehearsal.rounds import MAX_ROUNDS, RUNS, rehearse
from lictor_run.rehearsal.local_stage import LocalStage
from lictor_schema.proofs.proof import ProofVerdict

LAYERS = Path(__file__).parent / "layers"
PATIENT = ProofSettings(rehearsal_ms=4_000)
"""However busy the machine is."""
SEED = "5eed" * 8


@pytest.fixture(scope="module")
def layer() -> Layer:
    return load_layer(discover_trusted_roots([LAYERS]), [LAYERS])


@pytest.fixture(scope="module")
def stage() -> Iterator[LocalStage]:
    with LocalStage() as started:
        yield started


def program(body: str) -> str:
    """A whole program: what it imports stands in the body as names."""
    stated, _, rest = body.strip().partition("\n")
    effects = sorted(set(re.findall(r"\b([a-z_]+)\(", rest)) & EFFECTS)
    modules = sorted(set(re.findall(r"\b(datetime|json)\.", rest)))
    lines = (
        *(f"import {each}" for each in modules),
        "from lictor_layer import guarantee",
        "from tools.office.trusted import contracts",
        f"from tools.office.trusted.effects import {', '.join(effects)}",
        "",
        *(f"@guarantee(contracts.{each})" for each in stated.split("; ")),
        "def main() -> None:",
        *(f"    {line}" for line in rest.splitlines()),
    )
    return "\n".join(lines) + "\n"


EFFECTS = frozenset(
    re.findall(
        r"^def ([a-z_]+)\(", (LAYERS / "tools/office/trusted/effects.py").read_text(), re.MULTILINE
    )
)

REACHED = {
    "a day that is parsed and compared with today": """
no_money()
now = datetime.date.fromisoformat(today())
for invoice in list_invoices(False):
    due = datetime.date.fromisoformat(invoice.due)
    if due < now:
        log(f"{invoice.number} is late")
""",
    "a number of days between two that are parsed": """
no_money()
now = datetime.date.fromisoformat(today())
for invoice in list_invoices(False):
    late = now - datetime.date.fromisoformat(invoice.due)
    if late.days > 30:
        post_message("#sales", f"{invoice.number} is {late.days} days late")
""",
    "a day that is parsed with a format": """
no_money()
for employee in list_employees("sales"):
    born = datetime.datetime.strptime(employee.birthday, "%Y-%m-%d")
    if born.month == 2:
        send_email(employee.email, "Winter", "You were born in winter")
""",
    "an int of a setting": """
at_most_posts(1)
days = int(get_setting("reminder_days"))
if days > 14:
    post_message("#office", f"Reminders come after {days} days")
""",
    "an int of a setting that may be none": """
at_most_posts(1)
try:
    days = int(get_setting("reminder_days"))
except ValueError:
    log("reminder_days is no number")
    return
if days == 90:
    post_message("#office", "Reminders come late")
""",
    "a member of JSON": """
no_money()
rules = json.loads(get_setting("price_rules"))
if rules["increase_percent"] > 50:
    log("This is a lot")
""",
    "two members of JSON": """
no_money()
rules = json.loads(get_setting("price_rules"))
if rules.get("minimum_cents", 0) > 100 and rules.get("enabled"):
    log("The rules are on")
""",
    "a field of a line": """
no_money()
for line in read_file("/shared/reports/contacts.csv").splitlines():
    parts = line.split(",")
    if len(parts) == 3 and parts[0] == "boss":
        log("There is a boss")
""",
    "a counter at its bound": """
at_most_mails(200)
sent = 0
for order in list_orders("open"):
    send_email(order.email, "Your order", f"Order {order.id} is open")
    sent += 1
    if sent == 25:
        log("25 mails")
""",
    "a counter of some items": """
no_charge()
large = 0
for order in list_orders("open"):
    if order.total_cents > 100_000:
        large += 1
if large > 3:
    log("More than three large orders")
""",
    "a sum at its bound": """
no_charge()
total = 0
for order in list_orders("open"):
    total += order.total_cents
if total > 1_000_000:
    post_message("#sales", "A million")
""",
    "every twentieth of many": """
no_money()
for at, product in enumerate(list_products(), 1):
    if product.name.lower().startswith("old") or at % 20 == 0:
        log(f"{at}: {product.name}")
""",
    "an item that was seen before": """
no_money()
seen: dict[str, int] = {}
for entry in list_transactions("main"):
    key = f"{entry.memo.strip().lower()} {entry.cents}"
    if key in seen:
        log(f"{entry.id} is booked twice")
    seen[key] = entry.id
""",
    "one that is like another but for its ending": """
no_money()
files = list_files("/shared/reports")
names = {entry.name for entry in files}
for entry in files:
    if entry.name.removesuffix(".bak") in names and entry.name.endswith(".bak"):
        log(f"{entry.path} is a copy")
""",
}


BROKEN = {
    "a budget that is looked at before it is spent": """
refunds_in_sum_at_most(10_000)
spent = 0
for order in list_orders("returned"):
    if spent > 10_000:
        break
    if order.total_cents > 0:
        refund(order.id, order.total_cents)
        spent += order.total_cents
""",
    "transfers of what is left": """
transfers_in_sum_at_most(5_000)
moved = 0
while moved < 5_000:
    part = get_balance("petty_cash")
    if part <= 0:
        break
    transfer("petty_cash", "main", part)
    moved += part
""",
    "one too many": """
at_most_refunds(10)
done = 0
for order in list_orders("returned"):
    if done > 10:
        break
    if order.total_cents > 0:
        refund(order.id, order.total_cents)
        done += 1
""",
    "one too many, by the words of a mail": """
at_most_mails(5)
sent = 0
for ticket in list_tickets("open"):
    if "urgent" in ticket.subject.lower():
        send_email(ticket.email, "We hurry", f"Ticket {ticket.id}")
        sent += 1
    if sent > 5:
        break
""",
    "the same address under two names": """
one_mail_per_address()
names = set()
for order in list_orders("open"):
    if order.customer not in names:
        names.add(order.customer)
        send_email(order.email, "Your order", "It is open")
""",
    "the same address in two spellings of a name": """
one_mail_per_address()
names = set()
for customer in list_customers():
    name = customer.name.strip().lower()
    if name in names:
        continue
    names.add(name)
    send_email(customer.email, "News", "There are some")
""",
    "a limit that a setting raises": """
each_refund_at_most(2_000)
limit = int(get_setting("refund_limit_cents") or "2000")
for order in list_orders("returned"):
    if 0 < order.total_cents <= limit:
        refund(order.id, order.total_cents)
""",
    "a limit in JSON": """
each_charge_at_most(900)
rules = json.loads(get_setting("fees"))
fee = int(rules.get("monthly_cents", 900))
if fee > 0:
    charge(4, fee, "monthly fee")
""",
    "an attempt too many": """
at_most_charges(2)
for attempt in range(3):
    try:
        charge(4, 1_900, "fee")
    except ConnectionError:
        log("once more")
        continue
    break
""",
    "an attempt too many after the loop": """
at_most_charges(3)
attempts = 0
done = False
while not done and attempts < 3:
    attempts += 1
    try:
        charge(4, 1_900, "fee")
        done = True
    except ConnectionError:
        log(f"attempt {attempts} failed")
if not done:
    charge(4, 1_900, "fee")
""",
    "a part of a price that is less than its minimum": """
prices_at_least(100)
for product in list_products():
    price = int(product.price_cents * 0.7)
    if product.price_cents >= 100 and price > 0:
        set_price(product.sku, price)
""",
}

KEPT = {
    "a budget that is looked at with what is spent": """
refunds_in_sum_at_most(10_000)
spent = 0
for order in list_orders("returned"):
    if order.total_cents > 0 and spent + order.total_cents <= 10_000:
        refund(order.id, order.total_cents)
        spent += order.total_cents
""",
    "no address twice": """
one_mail_per_address()
done = set()
for order in list_orders("open"):
    if order.email not in done:
        done.add(order.email)
        send_email(order.email, "Your order", "It is open")
""",
    "no address twice, whatever its spelling": """
one_mail_per_address()
done = set()
for part in get_setting("report_recipients").split(","):
    address = part.strip().lower()
    if "@" in address and address not in done:
        done.add(address)
        send_email(address, "Report", "It is there")
""",
    "a limit that a setting lowers": """
each_refund_at_most(2_000)
limit = min(int(get_setting("refund_limit_cents") or "2000"), 2_000)
for order in list_orders("returned"):
    if 0 < order.total_cents <= limit:
        refund(order.id, order.total_cents)
""",
    "as many attempts as stated": """
at_most_charges(3)
attempts = 0
done = False
while not done and attempts < 3:
    attempts += 1
    try:
        charge(4, 1_900, "fee")
        done = True
    except ConnectionError:
        log(f"attempt {attempts} failed")
""",
    "an address that comes from a column, by way of what is not modelled": """
mails_only_to_buyers(); at_most_mails(200)
for order in list_orders("open"):
    send_email(order.email.strip().lower() or order.email, "Your order", "It is open")
""",
    "a price that is rounded up to its minimum": """
prices_at_least(100)
for product in list_products():
    price = max(100, round(product.price_cents * 0.7))
    set_price(product.sku, price)
""",
}


def judged(body: str, layer: Layer, stage: LocalStage) -> Proof:
    proof = prove(program(body), name="p.py", layer=layer, settings=PATIENT, seed=SEED)
    return rehearse(proof, stage)


@pytest.mark.parametrize("body", REACHED.values(), ids=REACHED)
def test_a_call_that_hangs_on_what_nobody_can_say_is_reached(
    body: str, layer: Layer, stage: LocalStage
) -> None:
    proof = judged(body, layer, stage)
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    assert proof.rehearsal is not None
    assert not proof.rehearsal.refused
    assert proof.rehearsal.sites_reached == proof.rehearsal.sites


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_guarantee_is_refuted_by_a_run_that_python_makes(
    body: str, layer: Layer, stage: LocalStage
) -> None:
    proof = judged(body, layer, stage)
    assert proof.verdict is ProofVerdict.REFUTED, proof.reasons
    assert any(each.code == "guarantee.refuted" for each in proof.reasons)
    assert any(each.counterexample is not None for each in proof.guarantees)
    assert proof.plan is None


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_a_guarantee_that_is_kept_is_never_refuted(
    body: str, layer: Layer, stage: LocalStage
) -> None:
    proof = judged(body, layer, stage)
    assert proof.verdict in (ProofVerdict.PROVED, ProofVerdict.UNKNOWN), proof.reasons
    assert all(each.verdict is not ProofVerdict.REFUTED for each in proof.guarantees)


def planned_for(body: str, layer: Layer) -> Proof:
    proof = prove(program(body), name="p.py", layer=layer, settings=PATIENT, seed=SEED)
    assert proof.plan is not None
    return proof


def test_a_run_that_only_the_search_finds_is_compared_too(layer: Layer, stage: LocalStage) -> None:
    """Python makes another call there than the document says."""
    proof = planned_for(REACHED["a counter of some items"], layer)
    plan = proof.plan
    assert plan is not None
    few = replace(plan, predicted=plan.predicted[:3])
    honest = rehearse(replace(proof, plan=with_source(few, plan.order.source)), stage)
    assert honest.is_rehearsed
    other = plan.order.source.replace("More than three", "At least three")
    lying = rehearse(replace(proof, plan=with_source(few, other)), stage)
    assert [each.code for each in lying.reasons] == [DIFFERS]
    assert lying.verdict is ProofVerdict.UNKNOWN


def with_source(plan: Plan, source: str) -> Plan:
    """The plan with another program, and as many of its runs as it predicts."""
    runs = plan.order.runs[: len(plan.predicted)]
    return replace(plan, order=replace(plan.order, source=source, runs=runs))


def test_a_call_that_promises_what_nobody_can_read_refutes_nothing(
    layer: Layer, stage: LocalStage
) -> None:
    """Its answers may be what it promises not to return."""
    proof = planned_for(BROKEN["the same address under two names"], layer)
    assert proof.plan is not None
    assert proof.ir is not None
    orders = next(each.id for each in proof.ir.document.atoms if each.effect == "list_orders")
    doubted = replace(proof, plan=replace(proof.plan, unread=frozenset({orders})))
    assert rehearse(doubted, stage).verdict is ProofVerdict.UNKNOWN
    assert rehearse(proof, stage).verdict is ProofVerdict.REFUTED


class CountingStage:
    """A stage that counts what it is asked for."""

    def __init__(self, stage: LocalStage) -> None:
        self._stage = stage
        self.orders: list[StageOrder] = []

    def perform(self, order: StageOrder) -> Observation:
        self.orders.append(order)
        return self._stage.perform(order)


def test_a_search_ends(layer: Layer, stage: LocalStage) -> None:
    counting = CountingStage(stage)
    proof = planned_for(KEPT["no address twice"], layer)
    found = rehearse(proof, counting)
    assert found.verdict is ProofVerdict.UNKNOWN
    assert found.plan is None
    assert found.rehearsal is None
    assert 1 < len(counting.orders) <= MAX_ROUNDS
    assert max(len(each.runs) for each in counting.orders) <= RUNS
    assert found.timings.rehearse_ms > proof.timings.rehearse_ms


class RefusingStage:
    """A stage that does not work here."""

    def perform(self, order: StageOrder) -> Observation:
        return Observation((), refused="no seccomp here")


def test_without_a_stage_what_is_undecided_stays_so(layer: Layer) -> None:
    proof = planned_for(BROKEN["an attempt too many"], layer)
    found = rehearse(proof, RefusingStage())
    assert found.verdict is ProofVerdict.UNKNOWN
    assert found.plan is None
    assert found.reasons == proof.reasons


def test_what_is_not_to_be_rehearsed_is_not_searched(layer: Layer) -> None:
    source = program(BROKEN["an attempt too many"])
    alone = prove(
        source, name="p.py", layer=layer, settings=ProofSettings(rehearsal_ms=0), seed=SEED
    )
    assert alone.verdict is ProofVerdict.UNKNOWN
    assert alone.plan is None
    assert alone.rehearsal is None


def test_a_counterexample_tells_which_calls_fail(layer: Layer, stage: LocalStage) -> None:
    found = judged(BROKEN["an attempt too many"], layer, stage)
    (run,) = [each.counterexample for each in found.guarantees if each.counterexample]
    assert "at_most_charges(2) is broken" in str(run)
    assert "returns nothing: the call fails" in str(run)
    assert sum(each.times for each in run.path if each.effect == "charge") == 3
