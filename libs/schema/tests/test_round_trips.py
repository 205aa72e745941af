"""Every exported model survives the wire, and its JSON Schema takes what it writes."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from strategies import instances

from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, parse_json
from lictor_schema.events.event import parse_event
from lictor_schema.json_schemas import SUFFIX, event_models, exported_models, json_schemas

MODELS = exported_models()
VALIDATORS = {
    name.removesuffix(SUFFIX): Draft202012Validator(schema)
    for name, schema in json_schemas().items()
}

few = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("name", MODELS)
@few
@given(data=st.data())
def test_what_is_written_reads_back_equal_and_fits_its_json_schema(
    name: str, data: st.DataObject
) -> None:
    model = MODELS[name]
    instance = data.draw(instances(model))
    wire = instance.to_json()
    assert model.from_json(wire) == instance
    assert not list(VALIDATORS[name].iter_errors(json.loads(wire)))
    canonical = canonical_json(instance)
    assert model.from_json(canonical) == instance
    assert canonical_json(parse_json(wire)) == canonical
    if name.startswith("event-"):
        assert parse_event(wire) == instance


@pytest.mark.parametrize("name", MODELS)
def test_json_schema_and_model_both_refuse_a_dropped_or_added_field(name: str) -> None:
    model = MODELS[name]
    document = json.loads(an_instance(name).to_json())
    required = [field for field in document if _is_required(model, field)]
    dropped = [{k: v for k, v in document.items() if k != missing} for missing in required]
    for broken in (*dropped, {**document, "surplus": 1}):
        assert not VALIDATORS[name].is_valid(broken)
        with pytest.raises(ValidationError):
            model.from_json(json.dumps(broken))


@pytest.mark.parametrize("kind", event_models())
def test_the_schema_of_all_events_accepts_an_event_of_each_type(kind: str) -> None:
    event = an_instance(f"event-{kind.replace('_', '-')}")
    assert VALIDATORS["event"].is_valid(json.loads(event.to_json()))


def an_instance(name: str) -> Model:
    """One valid instance, the same in every run."""
    found: list[Model] = []

    @settings(max_examples=1, deadline=None, derandomize=True, database=None)
    @given(instances(MODELS[name]))
    def keep(instance: Model) -> None:
        found.append(instance)

    keep()
    return found[0]


def _is_required(model: type[Model], wire_name: str) -> bool:
    return any(
        field.is_required() and wire_name in (name, field.serialization_alias)
        for name, field in model.model_fields.items()
    )


@few
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_reading_rubbish_fails_with_one_of_two_errors(rubbish: bytes | str) -> None:
    with pytest.raises((ValidationError, CanonicalError)):
        parse_event(rubbish)
