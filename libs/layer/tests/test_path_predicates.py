"""Written paths and URLs, against plain references that take them apart."""

import re
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

WRITTEN = st.text(alphabet="a./\\:%25ceEfF?#é", max_size=12)


def reference_parent(path: str) -> bool:
    """By segments: none is `..`, and no drive is followed by dots."""
    return ".." not in re.split(r"[/\\]", path) and ":.." not in path


def reference_plain(path: str) -> bool:
    """By segments: none is empty within, and `.` only comes first."""
    segments = path.split("/")
    inner = segments[1:-1]
    last_is_dot = len(segments) > 1 and segments[-1] == "."
    return "\\" not in path and "" not in inner and "." not in inner and not last_is_dot


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
    expected = not set(name) & set("/\\:") and name not in (".", "..")
    assert is_single_path_component(name) == expected


@given(st.text(alphabet="a./\\%25ceEfF63", max_size=14), st.integers(0, 5))
def test_no_amount_of_decoding_makes_a_parent_segment(url: str, times: int) -> None:
    if url_has_no_parent_segments(url):
        for _ in range(times):
            url = unquote(url)
        assert reference_parent(url)


@pytest.mark.parametrize("url", ["https://a.b/c%20d", "https://a.b/%2C?q=1", "/a..b/"])
def test_ordinary_urls_pass(url: str) -> None:
    assert url_has_no_parent_segments(url)


@pytest.mark.parametrize(
    "url", ["/a/../b", "/a/..", "/%2e%2e/", "/a/..?x", "/a/..#x", "%2f..%2f", "/%252e", "/a/..%00"]
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
