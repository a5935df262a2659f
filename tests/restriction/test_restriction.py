"""The knobs of the GEM family as one value."""

import json

import pytest

from mgem_core import RunConfig
from mgem_core.restriction.restriction import CHOICES, FIELDS, Restriction


def test_every_knob_is_a_field_of_the_config_with_the_same_default():
    config = RunConfig()
    different = {name for name in FIELDS if getattr(config, name, None) != getattr(Restriction(), name)}
    assert different == {"split_by", "rule"}  # which a recording decides, and which runs do not have


@pytest.mark.parametrize("name", CHOICES)
def test_the_config_allows_the_same_words(name):
    assert [getattr(RunConfig(**{name: word}), name) for word in CHOICES[name]] == list(CHOICES[name])


def test_it_is_built_from_a_config():
    config = RunConfig(tasks=3, modules={"fc1": 0, "fc2": 1, "fc3": 1}, splits=2, strength=(0.1, 0.2), trigger="always")
    for name in FIELDS:
        assert getattr(config.restriction, name) == getattr(config, name, "")


def test_it_is_sent_as_json():
    restriction = Restriction("layers", 2, (0.1, 0.2), trigger="always", step_length="gradient")
    values = json.loads(json.dumps(restriction.as_json()))
    assert Restriction.of({**values, "strength": tuple(values["strength"])}) == restriction
