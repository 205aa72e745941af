r"""Predicates over paths and URLs as they are written. Nothing looks at a disk or a network.

Each is one expression, so that the prover can read it where a precondition calls it. The first alternative of each
`or` is the simple guard that programs write; it spares the solver the details.

They read text as POSIX, Windows and URL parsers do, and where these differ, as the one that climbs. What single file
systems fold besides (letter case, Unicode's normal forms, a name's trailing dots) is not looked at.
"""

from __future__ import annotations

import re


def has_no_parent_segments(path: str) -> bool:
    r"""No segment is `..`, whether segments end at `/` or `\`; nor does `..` follow a drive's colon.

    Nor is a segment one that some readers shorten to `..`: dots before more dots, blanks, control characters or `;`.
    """
    return ".." not in path or not (
        path == ".."  # noqa: PIE810 -- the prover reads one prefix at a time
        or ":.." in path
        or path.startswith("../")
        or path.startswith("..\\")
        or path.endswith("/..")
        or path.endswith("\\..")
        or "/../" in path
        or "\\..\\" in path
        or "/..\\" in path
        or "\\../" in path
        or re.match(r"\.\.[\x00-\x20.;]", path) is not None
        or re.search(r"[/\\]\.\.[\x00-\x20.;]", path) is not None
    )


def has_plain_segments(path: str) -> bool:
    r"""Not empty, no `\` or NUL, no empty segment within, and no `.` segment but the first."""
    return (
        path != ""
        and "\\" not in path
        and "\0" not in path
        and "//" not in path
        and ("/." not in path or not ("/./" in path or path.endswith("/.")))
    )


def is_plain_path(path: str) -> bool:
    """A path that can't be spelled in a second way, but for a leading `./` or a last `/`."""
    return has_plain_segments(path) and has_no_parent_segments(path)


def is_single_path_component(name: str) -> bool:
    r"""A name that stays in its directory: no separator, drive or control character, and not dots and blanks alone."""
    return not (
        "/" in name
        or "\\" in name
        or ":" in name
        or re.search(r"[\x00-\x1f]", name) is not None
        or re.fullmatch(r"[. ]*", name) is not None
    )


def url_has_no_parent_segments(url: str) -> bool:
    """No `..` segment, however often a server decodes the URL, and whatever parsers drop or fold.

    Parsers drop tabs and line breaks wherever they stand. Decoding can make dots and separators out of their own codes,
    out of an encoded percent sign, and out of encoded letters and digits, which make new codes. Old decoders take codes
    that are longer than they need be (`%c0%ae`) and `%u002e`; some fold what looks like dots and slashes. None of these
    may be there; nor may dots that touch a percent sign, a query or a fragment.
    """
    return (
        has_no_parent_segments(url)
        and "..%" not in url
        and "..?" not in url
        and "..#" not in url
        and (
            "%" not in url
            or re.search(
                "%(?:0[9aAdD]|2[5eEfF]|3[0-9]|[46][1-9a-fA-F]|5[0-9aAcC]|7[0-9aA]|[cC][01]|[eE]0%80|[fF][08cC]%80|[uU]"
                "|[eE]2%80%[aA][4-6]|[eE][fF]%(?:[bB]9%(?:92|[aA]8)|[bB][cC]%(?:8[eEfF]|[bB][cC])))",
                url,
            )
            is None
        )
        and re.search("[\t\n\r\u2024-\u2026\ufe52\ufe68\uff0e\uff0f\uff3c]", url) is None
    )
