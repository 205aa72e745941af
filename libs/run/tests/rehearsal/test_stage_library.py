"""What programs may use of the standard library works where a rehearsal runs: no file, no process, no network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from staged_programs import ordered, program, shop

from lictor_prove.layer_model import Layer
from lictor_prove.python.library.signatures import modules
from lictor_run.rehearsal.local_stage import LocalStage

USED = (
    "datetime.date.today().isoformat()",
    "datetime.datetime.now().astimezone().isoformat()",
    "datetime.datetime.now(datetime.UTC).strftime('%A %Z %c %x')",
    "datetime.datetime.today().timestamp()",
    "datetime.datetime.fromtimestamp(0.5).ctime()",
    "datetime.datetime.strptime('2024-02-29 Mon', '%Y-%m-%d %a')",
    "datetime.datetime.strptime('2024 +0000', '%Y %z')",
    "datetime.date(2024, 1, 1) - datetime.timedelta(days=3)",
    "time.strftime('%Y %Z')",
    "(time.time(), time.monotonic(), time.perf_counter(), time.time_ns())",
    "json.dumps({'a': [1, None, datetime.date.today()]}, indent=2, sort_keys=True, default=str)",
    "json.loads('{\"a\": [1.5, true]}')['a']",
    "statistics.stdev([1, 2, 3])",
    "statistics.median([1, 2]) + statistics.fmean([1.5]) + statistics.mode([1])",
    "(random.random(), random.randint(1, 3), random.gauss(0, 1), random.uniform(1, 2))",
    "decimal.Decimal('1.25').quantize(decimal.Decimal('0.1'), rounding=decimal.ROUND_HALF_UP)",
    "f\"{decimal.Decimal('1.25'):.1f} {datetime.date(2024, 1, 1):%d %B}\"",
    "fractions.Fraction('1/3') + 1",
    "(hashlib.sha256(b'a').hexdigest(), hashlib.sha1(b'').hexdigest(), hashlib.sha512().hexdigest())",
    "hashlib.md5(b'a').hexdigest()",
    "base64.b64decode(base64.b64encode('é'.encode())).decode()",
    "'é'.encode('latin-1').decode('cp1252')",
    "(uuid.uuid4(), uuid.UUID(hex='0' * 32))",
    "textwrap.fill('a b c', width=3) + textwrap.dedent(' a') + textwrap.shorten('a b', 9)",
    "html.unescape(html.escape('<&eacute;>'))",
    "urllib.parse.urlparse('https://h:1/a?b').port",
    "urllib.parse.urlencode({'a': 'é'}) + urllib.parse.urljoin('http://a/b', 'c')",
    "os.path.join('a', os.path.splitext('b.c')[0]) + os.path.normpath('a/../b')",
    "re.sub(r'(\\w)', r'<\\1>', 'ab') + re.compile('b').sub('c', 'abc') + re.escape('.')",
    "(lambda d: (d['a'], dict(d)))(collections.defaultdict(list))",
    "string.Template('$a ${b}').safe_substitute({'a': 1})",
    "(math.log(3), math.factorial(5), math.hypot(3, 4), math.comb(5, 2), math.isclose(1, 1))",
)
"""Each in a process of its own kind: the first use of a function may look for what it needs."""
IMPORTS = "\n".join(
    f"import {each}" for each in (*modules(), "collections", "contextlib", "string")
)


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def stage() -> Iterator[LocalStage]:
    with LocalStage() as made:
        yield made


@pytest.mark.parametrize("used", USED)
def test_a_member_works_in_a_confined_process(used: str, stage: LocalStage, layer: Layer) -> None:
    source = program(f"pay(str({used}), 1)", more=IMPORTS)
    seen = stage.perform(ordered(layer, source))
    assert seen.refused == ""
    (run,) = seen.runs
    assert (run.error, len(run.calls)) == ("", 1)


@pytest.mark.parametrize(
    "used",
    [
        "json.decoder",
        "collections.abc",
        "contextlib.closing",
        "contextlib.sys",
        "collections._sys",
        "random._os",
        "os.path.os",
        "os.path.genericpath",
        "time.sleep(1)",
        "os.getcwd()",
    ],
)
def test_what_the_table_lacks_is_not_there(used: str, stage: LocalStage, layer: Layer) -> None:
    (run,) = stage.perform(ordered(layer, program(f"pay(str({used}), 1)", more=IMPORTS))).runs
    assert "AttributeError" in run.error
    assert not run.calls


def test_what_takes_python_too_long_is_ended(stage: LocalStage, layer: Layer) -> None:
    """A vast number is bounded by the limits of the process, not by the table."""
    seen = stage.perform(ordered(layer, program("int(decimal.Decimal('1E+999999'))", more=IMPORTS)))
    assert seen.refused or seen.runs[0].ended != "completed"
