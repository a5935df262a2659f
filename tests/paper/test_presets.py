"""The presets as data."""

import pytest

from mgem_core.paper.presets import PRESETS
from mgem_core.restriction.restriction import CONVENTIONS

RECORDED = {"rotated-digits": 6, "quick-look": 4, "modules-against-strength": 6, "splits-against-strength": 6}


def test_presets_of_the_page_are_recorded_and_no_others():
    counts = {name: len(preset.spec.recordings()) for name, preset in PRESETS.items()}
    assert {name: count for name, count in counts.items() if count} == RECORDED


@pytest.mark.parametrize("name", RECORDED)
def test_presets_of_the_page_restrict_like_gems_code(name):
    spec = PRESETS[name].spec
    assert spec == spec.with_default_record()
    for run in spec.runs():
        assert {field: getattr(run, field) for field in CONVENTIONS["on-conflict"].fields} == CONVENTIONS[
            "on-conflict"
        ].fields


@pytest.mark.parametrize("name", RECORDED)
def test_recordings_of_presets_show_every_number_of_splits(name):
    spec = PRESETS[name].spec
    for one in spec.recordings():
        assert (one.label, one.strength) == ("GEM", 0.5)
        assert 25 <= one.iterations // one.snap_every <= 30
        assert all(one.snap_splits % run.splits == 0 for run in spec.runs())
