"""Texts that fill a field and say nothing: one list for everything that asks whether a question was answered.

Case, punctuation, spacing, accents, characters that can't be seen and letters that only look Latin make no difference:
`T.B.D.`, `[tbd]`, `to-be-determined` and a TBD in full-width letters are the same.
"""

import re
from functools import lru_cache
from unicodedata import normalize


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PLACEHOLDERS = _listed(
    """
    tbd tba tbc tbs tobeadded tobeannounced tobeconfirmed tobecompleted tobedecided tobedefined tobedetermined
    tobediscussed tobedone tobefilled tobefilledin tobespecified tobewritten
    na notapplicable notavailable nonapplicable inapplicable
    unknown unclear undecided undefined undetermined unspecified unsure
    notknown notclear notdecided notdefined notdetermined notspecified notset notsure notgiven
    yetunknown yetundecided notyetknown notyetclear notyetdecided notyetdefined notyetdetermined notyetspecified
    idk idunno dunno dontknow donotknow idontknow idonotknow noidea noclue whoknows
    todo fixme xxx xx placeholder null nil asdf qwerty blah
    lorem loremipsum insertheretext inserttexthere yourtexthere texthere fillin fillinlater
    """
)
# These stand for nothing in an answer, and are names of channels, rooms and people.
_ALSO_NAMES = _listed("x nan foo bar foobar dummy sample")
_NO_ANSWERS = _PLACEHOLDERS | _ALSO_NAMES
_NOTHING = _listed(
    """
    no none nothing nothingnew nothingtoreport nothingatall nope nochange nochanges noprogress nonews noupdate noupdates
    """
)
_NOT_YET = _listed("notyet noneyet nothingyet nonesofar nothingsofar nonefornow nothingfornow")
# Words around a placeholder that make no answer of it.
_FILLER = _listed(
    """
    a an are as at be currently far for here is it its later moment now of probably right so soon still that the
    they this time yet we
    """
)
# Letters of other alphabets that look like Latin ones, and Hangul fillers, which can't be seen.
_LOOKALIKES = str.maketrans(
    "авеикмнорстухѕіјԁԛԝοαβεικνρτυχη", "abeukmhopctyxsijdqwoabeikvptuxn", "\u115f\u1160"
)
_BETWEEN = re.compile(r"\s/\s|[,;|()\[\]{}<>:\n\u2013\u2014-]+")
_WORD = re.compile(r"[^\W_]+")
_SHORT = 200


def is_answer(text: str | None) -> bool:
    """Whether a text is an answer that can be read, and not only a filled-in field; `nothing` is one."""
    return bool(text) and _kind(text) not in ("empty", "placeholder", "name")


def names_something(text: str) -> bool:
    """Whether a text that should be a name is one."""
    return _kind(text) in ("answer", "name")


def says_nothing(text: str | None) -> bool:
    """Whether a text is no answer, or answers that there is nothing."""
    return not text or _kind(text) != "answer"


def says_not_yet(text: str | None) -> bool:
    """Whether a text only says that there is nothing yet."""
    return bool(text) and _kind(text) == "not yet"


def _kind(text: str) -> str:
    # Agents give the same short answers again and again, and rules ask for them several times an event.
    return _short_kind(text) if len(text) <= _SHORT else _long_kind(text)


def _long_kind(text: str) -> str:
    words = _words(text)
    if not words:
        return "empty"
    whole = "".join(words)
    if whole in _NOT_YET:
        return "not yet"
    if whole in _NOTHING:
        return "nothing"
    if whole in _ALSO_NAMES:
        return "name"
    if whole.startswith("loremipsum") or _only(words, _NO_ANSWERS):
        return "placeholder"
    phrases = [found for part in _BETWEEN.split(text) if (found := _words(part))]
    if all(_only(phrase, _NO_ANSWERS) for phrase in phrases):
        return "placeholder"
    return "nothing" if _only(words, _NOTHING) else "answer"


_short_kind = lru_cache(maxsize=4096)(_long_kind)


def _words(text: str) -> list[str]:
    """The words of a text as they are compared."""
    plain = normalize("NFKD", text).casefold().translate(_LOOKALIKES)
    # What is neither letter, digit nor gap is left out, so that T.B.D. and don't are one word each.
    seen = "".join(each for each in plain if each.isalnum() or each.isspace() or each in "-_/")
    return _WORD.findall(seen)


def _only(words: list[str], known: frozenset[str]) -> bool:
    """Whether words, without those around them that say nothing, are one of these or several of them."""
    begins = _count(words)
    ends = _count(words[::-1])
    return any(
        "".join(left) in known or all(word in known for word in left)
        for first in range(begins + 1)
        for last in range(ends + 1)
        if (left := words[first : len(words) - last])
    )


def _count(words: list[str]) -> int:
    """How many of the first words say nothing."""
    return next((at for at, word in enumerate(words[:8]) if word not in _FILLER), 0)
