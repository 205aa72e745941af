"""Written paths and URLs, against plain references that take them apart."""

import re
import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lictor_layer import (
    DirectoryPath,
    FilePath,
    has_no_parent_segments,
    has_plain_segments,
    is_plain_path,
    is_single_path_component,
    url_has_no_parent_segments,
)

WRITTEN = st.text(alphabet="a./\\:%25ceEfF?#é; \t\0", max_size=12)


def reference_parent(path: str) -> bool:
    """By segments: none is `..` or shortened to it, and no drive is followed by dots."""
    segments = re.split(r"[/\\]", path)
    shortened = any(each.startswith("..") and each[2:3] in "\0\t .;" for each in segments)
    return not shortened and ":.." not in path


def reference_plain(path: str) -> bool:
    """By segments: none is empty within, and `.` only comes first. It is no path if there is nothing."""
    segments = path.split("/")
    inner = segments[1:-1]
    last_is_dot = len(segments) > 1 and segments[-1] == "."
    plain = "\\" not in path and "\0" not in path and path != ""
    return plain and "" not in inner and "." not in inner and not last_is_dot


@given(WRITTEN)
@example("")
@example("..")
@example("a..b/..c/d..")
@example("C:..")
@example("/a/.env")
def test_path_predicates_mean_what_segments_say(path: str) -> None:
    assert has_no_parent_segments(path) == reference_parent(path)
    assert has_plain_segments(path) == reference_plain(path)
    assert is_plain_path(path) == (reference_parent(path) and reference_plain(path))


@given(WRITTEN)
def test_a_single_component_stays_in_its_directory(name: str) -> None:
    expected = not set(name) & set("/\\:\t\0") and name.strip(". ") != ""
    assert is_single_path_component(name) == expected


DROPPED = str.maketrans("", "", "\t\n\r")


def reparsed(url: str) -> str:
    """What a parser makes of a URL: it drops tabs and line breaks, and some fold look-alikes of dots and slashes."""
    return unicodedata.normalize("NFKC", url.translate(DROPPED)).strip("".join(map(chr, range(33))))


@given(st.text(alphabet="a./\\%25ceEfF63\n\t\uff0e\u2025 ;049bBC8", max_size=14), st.integers(0, 5))
@example("/.\n./", 0)
@example("/.%0a./", 1)
@example("/%ef%bc%8e%ef%bc%8e/", 1)
def test_no_amount_of_decoding_and_parsing_makes_a_parent_segment(url: str, times: int) -> None:
    if url_has_no_parent_segments(url):
        url = reparsed(url)
        for _ in range(times):
            url = reparsed(unquote(url))
        assert reference_parent(url)


@pytest.mark.parametrize(
    "url", ["https://a.b/c%20d", "https://a.b/%2C?q=1", "/a..b/", "/a b;c/%E4%BD%A0%EF%BC%81"]
)
def test_ordinary_urls_pass(url: str) -> None:
    assert url_has_no_parent_segments(url)


@pytest.mark.parametrize(
    "url",
    [
        *("/a/../b", "/a/..", "/%2e%2e/", "/a/..?x", "/a/..#x", "%2f..%2f", "/%252e", "/a/..%00"),
        *(
            "https://h/a/.\n./b",
            "https://h/a\t/../b",
            "/.%09./",
            "/.%0D./",
            "/a/..;/b",
            "/a/..;x=1",
        ),
        *(
            "/a/.. /b",
            "/a/.. ",
            "/a/..\x01",
            "/a/.../b",
            "/%c0%ae%C0%AE/",
            "/%e0%80%ae%2e/",
            "/%u002e.",
        ),
        *(
            "/\uff0e\uff0e/",
            "/%ef%bc%8e%EF%BC%8E/",
            "/\u2025/",
            "/a\uff0f..",
            "/%%32%65.",
            "/%2%65.",
        ),
    ],
)
def test_urls_that_may_climb_do_not(url: str) -> None:
    assert not url_has_no_parent_segments(url)


@given(WRITTEN)
@example(".")
@example("./")
@example("/")
@example("//")
@example("a/")
def test_path_literals_are_plain_paths(path: str) -> None:
    plain = path != "" and ":" not in path and reference_parent(path) and reference_plain(path)
    assert accepted(DirectoryPath, path) == plain
    assert accepted(FilePath, path) == (plain and path != "." and not path.endswith("/"))


def accepted(kind: type[FilePath] | type[DirectoryPath], path: str) -> bool:
    try:
        return kind(path).value == path
    except ValueError:
        return False


def test_path_literals_are_strings_without_nul() -> None:
    with pytest.raises(TypeError):
        FilePath(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="plainly"):
        FilePath("a\0b")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "...", " ", ". ", "a/b", "a\\b", "C:x", "a\0", "a\n"]
)
def test_what_is_no_name_in_a_directory_is_no_component(name: str) -> None:
    assert not is_single_path_component(name)


@pytest.mark.parametrize("name", ["a", ".env", "a.b", "a b", "..a", "a.", "é"])
def test_ordinary_names_are_components(name: str) -> None:
    assert is_single_path_component(name)
