"""The knobs of the GEM family as one value."""

import json

import pytest

from mgem_core import RunConfig
from mgem_core.restriction.restriction import CHOICES, CONVENTIONS, FIELDS, Restriction


def test_every_option_is_a_config_field_with_the_same_default():
    config = RunConfig()
    different = {name for name in FIELDS if getattr(config, name, None) != getattr(Restriction(), name)}
    assert different == {"split_by", "rule"}  # which a recording decides, and which runs do not have


@pytest.mark.parametrize("name", CHOICES)
def test_config_allows_the_same_choices(name):
    assert [getattr(RunConfig(**{name: word}), name) for word in CHOICES[name]] == list(CHOICES[name])


def test_first_convention_is_the_default_of_runs():
    assert list(CONVENTIONS) == ["on-conflict", "every-step", "equal-length"]
    config = RunConfig()
    assert {name: getattr(config, name) for name in CONVENTIONS["on-conflict"].fields} == CONVENTIONS["on-conflict"].fields


def test_conventions_differ_and_are_valid():
    chosen = [(convention.fields["trigger"], convention.fields["step_length"]) for convention in CONVENTIONS.values()]
    assert chosen == [("violation", "free"), ("always", "free"), ("always", "gradient")]
    for convention in CONVENTIONS.values():
        assert RunConfig(**convention.fields)
        assert convention.help.endswith(".")


def test_restriction_from_config():
    config = RunConfig(tasks=3, modules={"fc1": 0, "fc2": 1, "fc3": 1}, splits=2, strength=(0.1, 0.2), trigger="always")
    for name in FIELDS:
        assert getattr(config.restriction, name) == getattr(config, name, "")


def test_restriction_as_json():
    restriction = Restriction("layers", 2, (0.1, 0.2), trigger="always", step_length="gradient")
    values = json.loads(json.dumps(restriction.as_json()))
    assert Restriction.of({**values, "strength": tuple(values["strength"])}) == restriction
