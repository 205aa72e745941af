"""Values of a run, as those read them who have neither the program nor its layer."""

from typing import Any

import pytest

from lictor_schema.approvals.plain_values import UnreadableValue, plain, shown


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (None, None),
        ([1, "a", True], [1, "a", True]),
        ({"int": str(2**60)}, 2**60),
        ({"int": hex(2**9000)}, 2**9000),
        ({"float": "-0.5"}, -0.5),
        ({"tuple": [1, {"tuple": []}]}, (1, ())),
        ({"set": [1, 2]}, {1, 2}),
        ({"map": [["a", {"float": "1.0"}], [1, []]]}, {"a": 1.0, 1: []}),
        ({"row": "Contact", "columns": {"name": "ada"}}, {"name": "ada"}),
        ({"rows": "Contact", "columns": {"name": "str"}}, "Contact"),
    ],
)
def test_each_kind_of_value_is_read(written: Any, value: Any) -> None:
    assert plain(written) == value


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"int": "x"},
        {"float": "x"},
        {"set": [[1]]},
        {"map": [[1]]},
        {"map": [[[], 1]]},
        {"other": 1},
    ],
)
def test_what_is_written_in_no_known_way_is_refused(written: Any) -> None:
    with pytest.raises(UnreadableValue):
        plain(written)


LARGE = {"int": hex(10**5000)}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ({"tuple": [1, "a\u202eb"]}, "(1, 'a\\u202eb')"),
        (LARGE, f'{{"int":"{hex(10**5000)}"}}'),
        ([LARGE], f'[{{"int":"{hex(10**5000)}"}}]'),
        (
            {"map": [["k\u202e", {"tuple": [LARGE]}]]},
            f'{{"map":[["k\\u202e",{{"tuple":[{{"int":"{hex(10**5000)}"}}]}}]]}}',
        ),
        ({"other": "\x9b"}, '{"other":"\\u009b"}'),
    ],
)
def test_each_value_is_shown_and_as_it_is_stored_where_python_writes_it_in_no_way(
    written: Any, text: str
) -> None:
    assert shown(written) == text
