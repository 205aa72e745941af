r"""Predicates over paths and URLs as they are written. Nothing looks at a disk or a network.

Each is one expression, so that the prover can read it where a precondition calls it. The first alternative of each
`or` is the simple guard that programs write; it spares the solver the details.
"""

from __future__ import annotations


def has_no_parent_segments(path: str) -> bool:
    r"""No segment is `..`, whether segments end at `/` or `\`; nor does `..` follow a drive's colon."""
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
    )


def has_plain_segments(path: str) -> bool:
    r"""No `\`, no empty segment within, and no `.` segment but the first."""
    return (
        "\\" not in path
        and "//" not in path
        and ("/." not in path or not ("/./" in path or path.endswith("/.")))
    )


def is_plain_path(path: str) -> bool:
    """A path that can't be spelled in a second way, but for a leading `./` or a last `/`."""
    return has_plain_segments(path) and has_no_parent_segments(path)


def is_single_path_component(name: str) -> bool:
    r"""A name that stays in its directory: no separator, no drive, not `.` or `..`."""
    return not (name == "." or name == ".." or "/" in name or "\\" in name or ":" in name)


def url_has_no_parent_segments(url: str) -> bool:
    """No `..` segment, however often a server decodes the URL.

    Decoding can only make a segment of dots and separators out of their own codes (2e, 2f, 5c), out of an encoded
    percent sign (25), or out of the encoded digits of those codes (2, 5, c, e, f). None of them may be there; nor may
    dots that touch a percent sign, a query or a fragment.
    """
    return has_no_parent_segments(url) and not (
        "%2e" in url
        or "%2E" in url
        or "%2f" in url
        or "%2F" in url
        or "%5c" in url
        or "%5C" in url
        or "%25" in url
        or "%32" in url
        or "%35" in url
        or "%63" in url
        or "%43" in url
        or "%65" in url
        or "%45" in url
        or "%66" in url
        or "%46" in url
        or "..%" in url
        or "..?" in url
        or "..#" in url
    )
