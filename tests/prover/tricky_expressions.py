"""Conditions whose truth is easy to get wrong, a line each; `test_tricky_expressions.py` asks the prover and Python.

They may read what `PRELUDE` binds: n and m are any ints, f any float, s and t any strings, b any bool, rows and more at
most three rows, and containers that are known.
"""

PRELUDE = """\
n = number()
m = number()
f = rate()
s = lookup("s")
t = lookup("t")
b = is_allowed("b")
rows = users()
more = users()
told = names()
xs = [1, 2, 3]
ys = xs
words = ["b", "a"]
d = {"k": 1, "l": 2}
u = {1, 2}
pair = (1, "a")
"""

CONDITIONS = r"""
-7 // 2 == -4
n // 2 * 2 + n % 2 == n
n // -3 * -3 + n % -3 == n
n % 3 == -1
n % -3 == 1
n % -3 > 0
-n // 2 == -(n // 2)
n / 2 == n // 2
n * n < 0
n * n == m * m and n != m
n + m == m + n
n - m == m - n
n ** 2 == n * n
n ** 0 == 1
0 ** 0 == 1
2 ** -1 == 0.5
2 ** -1 == 0
(-2) ** 3 == -8
-2 ** 2 == 4
abs(n) < 0
abs(-n) == abs(n)
abs(n) == n
divmod(-7, 2) == (-4, 1)
divmod(n, 3)[1] < 0
round(2.5) == 2
round(-0.5) == 0
int(-1.5) == -1
int(2.9) == 2
float(n) == n
n == 2 ** 53 + 1 and float(n) == n
9007199254740993 == 9007199254740993.0
n < f < n
f == f
f != f
f < 0 or f >= 0
f + 1 > f
f - f == 0
f * 0 == 0
f / 2 * 2 == f
-f == 0 - f
0.1 + 0.2 == 0.3
0.0 == -0.0
str(0.0) == str(-0.0)
1e308 * 10 == 1e308 * 100
min(f, 1.0) <= 1.0
max(f, 1.0) >= 1.0
min(1.0, f) <= 1.0
max(1.0, f) >= 1.0
min(n, m) <= max(n, m)
min(n, 5) <= 5
max(n, m, 3) >= 3
min(True, 1) is True
max(1, True) == 1
True + True == 2
True == 1
True is 1
b == 1
b == int(b)
b + b == 2
b * n == n
(b and n) == n
(b or n) == n
(n and m) == m
(n or m) == n
(n or m) == 0 and n != 0
(s or t) == ""
(s and t) == "" and s == ""
not s == (s == "")
bool(s) == (len(s) > 0)
bool(n) == (n != 0)
bool(f) == (f != 0)
bool(rows) == (len(rows) > 0)
bool(d)
not {}
not ()
1 < 2 < 3
1 < n < 2
1 < 3 > 2
n < m == True
n == n != m
1 == 1.0 == True
"1" == 1
None == 0
None == False
n == None
s == None
n is None
s is not None
[1] == [1.0]
[1] == [True]
(1,) == [1]
(1, 2) == (1.0, 2.0)
[[1]] == [[True]]
{"a": 1} == {"a": True}
{1: "a"} == {True: "a"}
{1} == {True}
{1, 2} == {2, 1}
{"a": 1, "b": 2} == {"b": 2, "a": 1}
[1, 2] == [2, 1]
True in [1]
1.0 in {1}
True in {1: 2}
"1" in [1]
n in [1, 2] and n == 3
n not in [n]
f in [f]
f not in [f]
f in (0.0, 1.5)
[f] == [f]
s in [s]
s in "" and s != ""
"" in s
s in s + t
s + t in s and t != ""
n in xs and n not in ys
n in u and n > 2
"k" in d and "z" not in d
"z" in d
1 in d
s in d and s != "k" and s != "l"
len(xs) == len(ys)
xs == ys
xs is ys
xs[0] == 1
xs[-1] == 3
xs[3] == 1
xs[-4] == 1
xs[n] == 1
xs[1:] == [2, 3]
xs[-2:] == [2, 3]
xs[5:] == []
xs[::-1] == [3, 2, 1]
xs[::2] == [1, 3]
xs[2:0:-1] == [3, 2]
xs[0:n] == []
xs + [4] == [1, 2, 3, 4]
xs * 2 == [1, 2, 3, 1, 2, 3]
xs * -1 == []
xs.index(2) == 1
xs.index(9) == 1
xs.count(True) == 1
sum(xs) == 6
sum([]) == 0
sum([b, b]) == 2
sum(xs, 10) == 16
sum([0.1, 0.2, 0.3]) == 0.6
min(xs) == 1 and max(xs) == 3
min([]) == 0
max([], default=5) == 5
sorted([3, 1, 2]) == [1, 2, 3]
sorted(words) == ["a", "b"]
sorted([n, m])[0] <= sorted([n, m])[1]
list(reversed(xs)) == [3, 2, 1]
[1, 2] < [1, 3]
(1, n) < (1, m)
(n, 1) < (m, 1) and n >= m
[n] < [m] and n > m
"a" < "b"
"Z" < "a"
"a" < "aa"
s < t < s
s <= s + t
s < s + t
s + t == t + s
(s + t).startswith(s)
(s + t).endswith(t)
(s + t).endswith(s)
s.startswith("")
s.startswith(s + "x")
s.startswith(("a", "b"))
s.endswith(t) and len(t) > len(s)
s.find(t) == -1
s.find("") == 0
s.find("a") > len(s)
s.find("a", 1) == 0
s.find("a", -1) == 0
"abc".find("c", -1) == 2
s.rfind("a") < s.find("a")
s.index("a") == 0
"abcabc".count("abc") == 2
"aaaa".count("aa") == 2
"ab".count("") == 3
s.count("") == len(s) + 1
s.count("a") > len(s)
s.replace("a", "a") == s
"aaa".replace("aa", "b") == "ba"
"ab".replace("", "-") == "-a-b-"
s.replace("a", "") == s
s.replace("a", "bb", 1) == s
"a" in s.replace("a", "b")
s[0] == s[:1]
s[:1] + s[1:] == s
s[-1:] == s
s[1:-1] == ""
s[::-1] == s
s[n:n] == ""
s[0:n] == s
len(s[1:]) == len(s) - 1
len(s + t) == len(s) + len(t)
len(s * 2) == 2 * len(s)
s * 0 == ""
s * n == ""
s * -1 == ""
"a" * 3 == "aaa"
s.upper() == s
s.lower() == "eve"
"\u00df".upper() == "SS"
"\u0130".lower() == "i"
"\u01c5".title() == "\u01c5"
s.upper().lower() == s.lower()
s.strip() == s
" a ".strip() == "a"
"\u00a0a".strip() == "a"
"\x1ca".strip() == "a"
"xxaxx".strip("x") == "a"
s.strip("ab") == ""
s.lstrip() == s
"a b".split() == ["a", "b"]
" a  b ".split(" ") == ["a", "b"]
"".split() == []
"".split("a") == [""]
len(s.split("a")) >= 1
s.split("a")[0] == s
"a,b,c".split(",", 1) == ["a", "b,c"]
"a\nb".splitlines() == ["a", "b"]
"a\x0bb".splitlines() == ["a", "b"]
",".join(["a", "b"]) == "a,b"
",".join([]) == ""
s.join(["a", "b"]) == "ab"
"".join([s, t]) == s + t
",".join(words) == "b,a"
"a".isdigit()
"\u0663".isdigit()
"\u00b2".isdigit()
"\u00b2".isdecimal()
"".isdigit()
s.isdigit()
s.isalpha()
"a".isalnum() and "".isalnum()
"Abc".istitle()
"abc".islower() and "123".islower()
"a".center(3) == " a "
"5".zfill(3) == "005"
"-5".zfill(3) == "-05"
"a".ljust(3, "x") == "axx"
"a-b".partition("-") == ("a", "-", "b")
"ab".partition("-") == ("ab", "", "")
"abc".removeprefix("ab") == "c"
s.removeprefix("a") == s
s.removesuffix("") == s
"%d" % 5 == "5"
"{}".format(5) == "5"
"{0}{1}".format("a", "b") == "ab"
f"{n}" == str(n)
f"{n}{m}" == f"{m}{n}"
f"{s}!" == s
f"{b}" == "True"
f"{True}" == "True"
f"{None}" == "None"
f"{1.0}" == "1.0"
f"{f}" == "nan"
f"{5:>3}" == "  5"
f"{5:03d}" == "005"
f"{-5:03d}" == "-05"
f"{0.5:.0f}" == "0"
f"{s!r}" == s
f"{'a'!r}" == "'a'"
f"{n:d}" == str(n)
f"{xs}" == "[1, 2, 3]"
f"{{}}" == "{}"
str(n) == "-0"
str(-5) == "-5"
str(n).startswith("-") == (n < 0)
str(n) == str(m) and n != m
len(str(n)) == 0
int(str(n)) == n
int("5") == 5
int(" 5 ") == 5
int("1_0") == 10
int("\u0663") == 3
int("x") == 0
int(s) == 5
int(True) == 1
float("nan") == float("nan")
float("inf") > n
float("1e5") == 100000
str(True) == "True"
str(None) == "None"
str(1.0) == "1.0"
str(1e22) == "1e+22"
str([1]) == "[1]"
repr("a") == "'a'"
chr(97) == "a"
ord("a") == 97
ord(s) == 97
ord("\U0001f600") == 128512
len("\U0001f600") == 1
len("e\u0301") == 1
"\u00e9" == "e\u0301"
"\u0041" == "A"
r"\n" == "\n"
b"a" == "a"
~n == -n - 1
n & 1 == n % 2
n | 0 == n
n ^ n == 0
-1 >> 1 == -1
1 << 3 == 8
1 << -1 == 0
n << 1 == n * 2
n >> 1 == n // 2
True & False == False
True | b
b ^ b
not n & 1 == 1
len(rows) <= 3
len(rows) >= 0
len(rows) == len(more)
rows == rows
rows == more
rows == []
len(rows) > 0 and rows[0].email == rows[-1].email
len(rows) > 0 and rows[0].age == rows[0].age
len(rows) > 1 and rows[0] == rows[1]
rows[0].age == 0
rows[len(rows) - 1].active
len(rows) == 1 and rows[0].email != rows[-1].email
len(rows) > 0 and len(more) > 0 and rows[0].email != more[0].email
len(told) > 0 and told[0] == ""
told == []
told[:1] == []
len(told[1:]) == len(told)
s in told
[r.email for r in rows] == []
len([r for r in rows]) == len(rows)
len([r for r in rows if r.active]) == len(rows)
len([r.email for r in rows if r.active]) > len(rows)
any(r.active for r in rows)
all(r.active for r in rows)
sum(r.age for r in rows) == 0
sum([r.age for r in rows]) < 0
max([r.age for r in rows]) > 0
[x + 1 for x in xs] == [2, 3, 4]
[x for x in xs if x > n] == xs
[y for x in xs for y in [x, x]] == [1, 1, 2, 2, 3, 3]
[x for x in xs if x > 1 if x < 3] == [2]
{x % 2 for x in xs} == {0, 1}
{x: x for x in xs} == {1: 1, 2: 2, 3: 3}
{x % 2: x for x in xs}[1] == 3
sum(x for x in xs) == 6
any(x == n for x in xs) == (n in xs)
all(x > 0 for x in xs)
any([]) or all([])
list(range(3)) == [0, 1, 2]
list(range(3, 0, -1)) == [3, 2, 1]
list(range(-1)) == []
2 in range(3)
n in range(3) and n == 3
len(range(0, 10, 3)) == 4
list(enumerate(words)) == [(0, "b"), (1, "a")]
list(enumerate(words, 1))[0] == (1, "b")
list(zip(xs, words)) == [(1, "b"), (2, "a")]
dict(zip(words, xs)) == {"b": 1, "a": 2}
d["k"] == 1
d["z"] == 1
d[s] == 1
d.get("z") is None
d.get("z", 5) == 5
d.get(s, 0) == 0
d.get(s) == d.get(t) and s != t
list(d) == ["k", "l"]
list(d.keys()) == ["k", "l"]
list(d.values()) == [1, 2]
list(d.items()) == [("k", 1), ("l", 2)]
{1: "a", True: "b"} == {1: "b"}
{1: "a", True: "b"}[1] == "b"
len({1, True, 1.0}) == 1
len({n, m}) == 2
len({n: 1, m: 2}) == 1 and n != m
{n: 1, m: 2}[n] == 1
{**d, "k": 5}["k"] == 5
{"k": 5, **d}["k"] == 5
[*xs, 4] == [1, 2, 3, 4]
d | {"k": 9} == {"k": 9, "l": 2}
u | {3} == {1, 2, 3}
u & {2, 3} == {2}
u - {1} == {2}
u ^ {2, 3} == {1, 3}
u <= {1, 2, 3}
u < u
{n} <= u and n > 2
set(xs) == {1, 2, 3}
set() == {}
frozenset(xs) == {1, 2, 3}
list(u) == [1, 2]
sorted(u) == [1, 2]
tuple(xs) == (1, 2, 3)
pair[0] == 1 and pair[1] == "a"
pair[2] == 1
pair + (2,) == (1, "a", 2)
(n,) * 2 == (n, n)
(1,) == 1
(n if b else m) == n
(n if n > m else m) >= n
(s if b else None) == s
(s if b else None) is None
(lambda x: x + 1)(n) > n
(lambda x, y=2: x * y)(3) == 6
(lambda: n)() == n
[g() for g in [lambda: x for x in xs]] == [3, 3, 3]
[g() for g in [lambda x=x: x for x in xs]] == [1, 2, 3]
(x := n) == n
len(s.encode()) == len(s)
isinstance(n, int)
isinstance(b, int)
isinstance(True, int)
isinstance(s, str) and isinstance(n, str)
type(n) == int
type(b) == int
callable(len)
hash(1) == hash(True)
id(xs) == id(ys)
n.bit_length() >= 0
n.real == n
f.is_integer()
(2.5).is_integer()
s.casefold() == s.lower()
"\u00df".casefold() == "ss"
"a" "b" == "ab"
"a" in ("a")
"a" in ("ab",)
"x" not in "abc" == True
n == n and n is n
not n == m
not (n == m) == (n != m)
n != m == True
1 if n else 0
n if b else s
print("x") is None
""".strip()
