"""What programs may use of the standard library: one table, for the front-end and for every process that runs programs.

A line is a function, a class, an attribute or an operator, with what it takes, what it gives and what it may raise:

    datetime.date.fromisoformat(text: str, /) -> date ! ValueError

Types are kinds of values. `int` takes a bool too, `number` bools, ints and floats, `any` whatever can be computed
from. `list[str]` takes every container or iterator of strings; its items are just what stands there, and `list[int]`
takes no bools: some members give one of the items back. A name that stands here several times takes any of these. The
result is unknown, and another value each time: nothing here is taken for constant, so clocks and random numbers need no
rule of their own. What is not here does not exist for programs; nothing here reads or changes anything outside of the
program but the clock and the source of random numbers.
"""

from __future__ import annotations

from typing import Final

MEMBERS: Final = """
datetime.date(year: int, month: int, day: int) -> date ! ValueError, OverflowError
datetime.date.today() -> date
datetime.date.fromisoformat(text: str, /) -> date ! ValueError
datetime.date.fromordinal(number: int, /) -> date ! ValueError, OverflowError
datetime.date.fromtimestamp(seconds: number, /) -> date ! ValueError, OverflowError, OSError
datetime.date.min -> date
datetime.date.max -> date
datetime.datetime(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0,
    microsecond: int = 0, tzinfo: timezone | None = None) -> datetime ! ValueError, OverflowError
datetime.datetime.now(tz: timezone | None = None) -> datetime ! ValueError, OverflowError, OSError
datetime.datetime.today() -> datetime ! ValueError, OverflowError, OSError
datetime.datetime.utcnow() -> datetime ! ValueError, OverflowError, OSError
datetime.datetime.fromisoformat(text: str, /) -> datetime ! ValueError
datetime.datetime.fromtimestamp(timestamp: number, tz: timezone | None = None) -> datetime ! ValueError,
    OverflowError, OSError
datetime.datetime.strptime(text: str, format: str, /) -> datetime ! ValueError
datetime.datetime.combine(date: date | datetime, time: time) -> datetime ! ValueError
datetime.datetime.min -> datetime
datetime.datetime.max -> datetime
datetime.time(hour: int = 0, minute: int = 0, second: int = 0, microsecond: int = 0, tzinfo: timezone |
    None = None) -> time ! ValueError, OverflowError
datetime.time.fromisoformat(text: str, /) -> time ! ValueError
datetime.timedelta(days: number = 0, seconds: number = 0, microseconds: number = 0, milliseconds: number
    = 0, minutes: number = 0, hours: number = 0, weeks: number = 0) -> timedelta ! OverflowError,
    ValueError
datetime.timezone(offset: timedelta, name: str = "") -> timezone ! ValueError
datetime.timezone.utc -> timezone
datetime.UTC -> timezone

time.time() -> float
time.time_ns() -> int
time.monotonic() -> float
time.monotonic_ns() -> int
time.perf_counter() -> float
time.perf_counter_ns() -> int
time.strftime(format: str, /) -> str ! ValueError

json.dumps(obj: any, *, indent: int | str | None = None, sort_keys: bool = False, ensure_ascii: bool =
    True, separators: tuple | None = None, default: text_class | None = None) -> str ! TypeError,
    ValueError, OverflowError
json.loads(s: str | bytes) -> json ! ValueError

re.escape(pattern: str) -> str
re.sub(pattern: str | Pattern, repl: str, string: str, count: int = 0) -> str ! re.error, IndexError,
    OverflowError, RuntimeError

string.Template(template: str) -> Template

statistics.mean(data: list[bool | int]) -> int | float ! ValueError, OverflowError
statistics.mean(data: list[float]) -> float ! ValueError, OverflowError
statistics.mean(data: list[bool | int | float]) -> int | float ! ValueError, OverflowError
statistics.fmean(data: list[bool | int | float]) -> float ! ValueError, OverflowError
statistics.median(data: list[int]) -> int | float ! ValueError, OverflowError
statistics.median(data: list[float]) -> float ! ValueError, OverflowError
statistics.median(data: list[int | float]) -> int | float ! ValueError, OverflowError
statistics.median(data: list[bool | int | float]) -> bool | int | float ! ValueError, OverflowError
statistics.median_low(data: list[bool]) -> bool ! ValueError
statistics.median_low(data: list[int]) -> int ! ValueError
statistics.median_low(data: list[float]) -> float ! ValueError
statistics.median_high(data: list[bool]) -> bool ! ValueError
statistics.median_high(data: list[int]) -> int ! ValueError
statistics.median_high(data: list[float]) -> float ! ValueError
statistics.mode(data: list[bool]) -> bool ! ValueError
statistics.mode(data: list[int]) -> int ! ValueError
statistics.mode(data: list[float]) -> float ! ValueError
statistics.mode(data: list[str]) -> str ! ValueError
statistics.stdev(data: list[bool | int | float]) -> float ! ValueError, OverflowError, AttributeError
statistics.pstdev(data: list[bool | int | float]) -> float ! ValueError, OverflowError, AttributeError
statistics.variance(data: list[bool | int | float]) -> int | float ! ValueError, OverflowError,
    AttributeError
statistics.pvariance(data: list[bool | int | float]) -> int | float ! ValueError, OverflowError,
    AttributeError

random.random() -> float
random.uniform(a: number, b: number) -> float ! OverflowError
random.randint(a: int, b: int) -> int ! ValueError
random.randrange(stop: int, /) -> int ! ValueError
random.randrange(start: int, stop: int, step: int = 1) -> int ! ValueError
random.gauss(mu: number, sigma: number) -> float ! OverflowError

decimal.Decimal(value: str | int | float | Decimal = "0") -> Decimal ! ArithmeticError, ValueError
decimal.ROUND_CEILING -> str
decimal.ROUND_DOWN -> str
decimal.ROUND_FLOOR -> str
decimal.ROUND_HALF_DOWN -> str
decimal.ROUND_HALF_EVEN -> str
decimal.ROUND_HALF_UP -> str
decimal.ROUND_UP -> str

fractions.Fraction(numerator: str | int | float | Fraction = 0) -> Fraction ! ValueError, OverflowError,
    ZeroDivisionError
fractions.Fraction(numerator: int | Fraction, denominator: int | Fraction) -> Fraction ! ZeroDivisionError

math.acos(x: number, /) -> float ! ValueError, OverflowError
math.asin(x: number, /) -> float ! ValueError, OverflowError
math.atan(x: number, /) -> float ! ValueError, OverflowError
math.atan2(y: number, x: number, /) -> float ! ValueError, OverflowError
math.comb(n: int, k: int, /) -> int ! ValueError, OverflowError
math.copysign(x: number, y: number, /) -> float ! OverflowError
math.cos(x: number, /) -> float ! ValueError, OverflowError
math.degrees(x: number, /) -> float ! OverflowError
math.exp(x: number, /) -> float ! OverflowError
math.factorial(n: int, /) -> int ! ValueError, OverflowError
math.fmod(x: number, y: number, /) -> float ! ValueError, OverflowError
math.fsum(seq: list[bool | int | float], /) -> float ! ValueError, OverflowError
math.gcd(*integers: int) -> int
math.hypot(*coordinates: number) -> float ! OverflowError
math.isclose(a: number, b: number, *, rel_tol: number = 1e-09, abs_tol: number = 0.0) -> bool !
    ValueError, OverflowError
math.isqrt(n: int, /) -> int ! ValueError
math.lcm(*integers: int) -> int
math.log(x: number, base: number = 2.7, /) -> float ! ValueError, OverflowError, ZeroDivisionError
math.log10(x: number, /) -> float ! ValueError
math.log2(x: number, /) -> float ! ValueError
math.modf(x: number, /) -> tuple[float, float] ! OverflowError
math.perm(n: int, k: int, /) -> int ! ValueError, OverflowError
math.pow(x: number, y: number, /) -> float ! ValueError, OverflowError
math.prod(iterable: list[bool | int], /) -> int
math.radians(x: number, /) -> float ! OverflowError
math.sin(x: number, /) -> float ! ValueError, OverflowError
math.tan(x: number, /) -> float ! ValueError, OverflowError

textwrap.dedent(text: str) -> str
textwrap.fill(text: str, width: int = 70) -> str ! ValueError
textwrap.indent(text: str, prefix: str) -> str
textwrap.shorten(text: str, width: int, *, placeholder: str = "...") -> str ! ValueError
textwrap.wrap(text: str, width: int = 70) -> list[str] ! ValueError

uuid.uuid4() -> UUID
uuid.UUID(hex: str) -> UUID ! ValueError

hashlib.md5(data: bytes = b"", /) -> HASH ! ValueError
hashlib.sha1(data: bytes = b"", /) -> HASH
hashlib.sha256(data: bytes = b"", /) -> HASH
hashlib.sha512(data: bytes = b"", /) -> HASH

base64.b64encode(s: bytes) -> bytes
base64.b64decode(s: bytes | str) -> bytes ! ValueError
base64.urlsafe_b64encode(s: bytes) -> bytes
base64.urlsafe_b64decode(s: bytes | str) -> bytes ! ValueError

html.escape(s: str, quote: bool = True) -> str
html.unescape(s: str) -> str ! ValueError

urllib.parse.quote(string: str, safe: str = "/") -> str ! ValueError
urllib.parse.quote_plus(string: str, safe: str = "") -> str ! ValueError
urllib.parse.unquote(string: str) -> str
urllib.parse.unquote_plus(string: str) -> str
urllib.parse.urlencode(query: dict) -> str ! ValueError, TypeError
urllib.parse.urljoin(base: str, url: str) -> str ! ValueError
urllib.parse.urlparse(url: str) -> ParseResult ! ValueError

os.path.basename(p: str) -> str
os.path.dirname(p: str) -> str
os.path.join(a: str, *p: str) -> str
os.path.normpath(path: str) -> str ! ValueError
os.path.split(p: str) -> tuple[str, str]
os.path.splitext(p: str) -> tuple[str, str] ! ValueError
"""
"""Members of modules."""

OBJECTS: Final = """
date.year -> int
date.month -> int
date.day -> int
date.ctime() -> str
date.isoformat() -> str
date.isoweekday() -> int
date.replace(year: int = 1, month: int = 1, day: int = 1) -> date ! ValueError, OverflowError
date.strftime(format: str) -> str ! ValueError
date.toordinal() -> int
date.weekday() -> int
date - date -> timedelta
date + timedelta -> date ! OverflowError
timedelta + date -> date ! OverflowError
date - timedelta -> date ! OverflowError
date < date -> bool

datetime.year -> int
datetime.month -> int
datetime.day -> int
datetime.hour -> int
datetime.minute -> int
datetime.second -> int
datetime.microsecond -> int
datetime.tzinfo -> timezone | None
datetime.astimezone(tz: timezone | None = None) -> datetime ! ValueError, OverflowError, OSError
datetime.ctime() -> str
datetime.date() -> date
datetime.isoformat(sep: str = "T", timespec: str = "auto") -> str ! ValueError, TypeError
datetime.isoweekday() -> int
datetime.replace(year: int = 1, month: int = 1, day: int = 1, hour: int = 0, minute: int = 0, second:
    int = 0, microsecond: int = 0, tzinfo: timezone | None = None) -> datetime ! ValueError,
    OverflowError
datetime.strftime(format: str) -> str ! ValueError
datetime.time() -> time
datetime.timestamp() -> float ! ValueError, OverflowError, OSError
datetime.toordinal() -> int
datetime.utcoffset() -> timedelta | None
datetime.weekday() -> int
datetime - datetime -> timedelta ! TypeError, OverflowError
datetime + timedelta -> datetime ! OverflowError
timedelta + datetime -> datetime ! OverflowError
datetime - timedelta -> datetime ! OverflowError
datetime < datetime -> bool ! TypeError, OverflowError

time.hour -> int
time.minute -> int
time.second -> int
time.microsecond -> int
time.isoformat(timespec: str = "auto") -> str ! ValueError
time.replace(hour: int = 0, minute: int = 0, second: int = 0, microsecond: int = 0) -> time !
    ValueError, OverflowError
time.strftime(format: str) -> str ! ValueError
time < time -> bool ! TypeError

timedelta.days -> int
timedelta.seconds -> int
timedelta.microseconds -> int
timedelta.total_seconds() -> float
timedelta + timedelta -> timedelta ! OverflowError
timedelta - timedelta -> timedelta ! OverflowError
timedelta * number -> timedelta ! OverflowError, ValueError
number * timedelta -> timedelta ! OverflowError, ValueError
timedelta / timedelta -> float ! ZeroDivisionError, OverflowError
timedelta / number -> timedelta ! ZeroDivisionError, OverflowError, ValueError
timedelta // timedelta -> int ! ZeroDivisionError
timedelta // int -> timedelta ! ZeroDivisionError, OverflowError
timedelta % timedelta -> timedelta ! ZeroDivisionError, OverflowError
timedelta < timedelta -> bool
abs(x: timedelta, /) -> timedelta ! OverflowError

Decimal.is_nan() -> bool
Decimal.is_zero() -> bool
Decimal.is_signed() -> bool
Decimal.quantize(exp: Decimal, rounding: str | None = None) -> Decimal ! ArithmeticError, TypeError
Decimal.normalize() -> Decimal ! ArithmeticError
Decimal + (Decimal | int) -> Decimal ! ArithmeticError
Decimal - (Decimal | int) -> Decimal ! ArithmeticError
Decimal * (Decimal | int) -> Decimal ! ArithmeticError
Decimal / (Decimal | int) -> Decimal ! ArithmeticError
Decimal // (Decimal | int) -> Decimal ! ArithmeticError
Decimal % (Decimal | int) -> Decimal ! ArithmeticError
int + Decimal -> Decimal ! ArithmeticError
int - Decimal -> Decimal ! ArithmeticError
int * Decimal -> Decimal ! ArithmeticError
int / Decimal -> Decimal ! ArithmeticError
Decimal < (Decimal | number) -> bool ! ArithmeticError
number < Decimal -> bool ! ArithmeticError
abs(x: Decimal, /) -> Decimal ! ArithmeticError
float(x: Decimal, /) -> float ! ValueError, OverflowError
int(x: Decimal, /) -> int ! ValueError, OverflowError
round(number: Decimal) -> int ! ValueError, OverflowError
round(number: Decimal, ndigits: int) -> Decimal ! ArithmeticError, ValueError, OverflowError

Fraction.numerator -> int
Fraction.denominator -> int
Fraction + (Fraction | int) -> Fraction
Fraction - (Fraction | int) -> Fraction
Fraction * (Fraction | int) -> Fraction
Fraction / (Fraction | int) -> Fraction ! ZeroDivisionError
int + Fraction -> Fraction
int - Fraction -> Fraction
int * Fraction -> Fraction
int / Fraction -> Fraction ! ZeroDivisionError
Fraction < (Fraction | number) -> bool ! OverflowError
number < Fraction -> bool ! OverflowError
abs(x: Fraction, /) -> Fraction
float(x: Fraction, /) -> float ! OverflowError
int(x: Fraction, /) -> int
round(number: Fraction) -> int
round(number: Fraction, ndigits: int) -> Fraction

Template.template -> str
Template.substitute(mapping: dict = {}, /, **kws: any) -> str ! KeyError, ValueError
Template.safe_substitute(mapping: dict = {}, /, **kws: any) -> str ! ValueError

Pattern.sub(repl: str, string: str, count: int = 0) -> str ! re.error, IndexError, OverflowError, RuntimeError

str.encode(encoding: str = "utf-8", errors: str = "strict") -> bytes ! ValueError, LookupError
bytes.decode(encoding: str = "utf-8", errors: str = "strict") -> str ! ValueError, LookupError
bytes.hex() -> str
bytes + bytes -> bytes
bytes < bytes -> bool
len(obj: bytes, /) -> int

HASH.digest() -> bytes
HASH.hexdigest() -> str

UUID.hex -> str
UUID.int -> int
UUID < UUID -> bool

ParseResult.scheme -> str
ParseResult.netloc -> str
ParseResult.path -> str
ParseResult.params -> str
ParseResult.query -> str
ParseResult.fragment -> str
ParseResult.hostname -> str | None
ParseResult.port -> int | None ! ValueError
ParseResult.geturl() -> str

json.get(key: any, default: any = None, /) -> json ! AttributeError, TypeError
json.keys() -> iterator[str] ! AttributeError
json.values() -> iterator[json] ! AttributeError
json.items() -> iterator[tuple[str, json]] ! AttributeError
json.endswith(suffix: str, /) -> bool ! AttributeError
json.lower() -> str ! AttributeError
json.replace(old: str, new: str, /) -> str ! AttributeError
json.split(sep: str, /) -> list[str] ! AttributeError, ValueError
json.startswith(prefix: str, /) -> bool ! AttributeError
json.strip() -> str ! AttributeError
json.title() -> str ! AttributeError
json.upper() -> str ! AttributeError
json[int | str] -> json ! LookupError, TypeError
json + (json | number | str) -> json ! TypeError, OverflowError
(number | str) + json -> json ! TypeError, OverflowError
json - (json | number) -> json ! TypeError, OverflowError
number - json -> json ! TypeError, OverflowError
json * (json | number) -> json ! TypeError, OverflowError, MemoryError
number * json -> json ! TypeError, OverflowError, MemoryError
json / (json | number) -> json ! TypeError, OverflowError, ZeroDivisionError
number / json -> json ! TypeError, OverflowError, ZeroDivisionError
json < (json | number | str) -> bool ! TypeError
(number | str) < json -> bool ! TypeError
str in json -> bool ! TypeError
number in json -> bool ! TypeError
json in any -> bool ! TypeError
bool(x: json, /) -> bool
float(x: json, /) -> float ! TypeError, ValueError, OverflowError
int(x: json, /) -> int ! TypeError, ValueError, OverflowError
len(obj: json, /) -> int ! TypeError
round(number: json, /) -> int ! TypeError, ValueError, OverflowError
abs(x: json, /) -> json ! TypeError
"""
"""What there is on the objects that they give: attributes, methods, operators, builtins. `<` stands for every order."""
