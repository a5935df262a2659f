"""Lists of numbers that users type into the form or into a command."""

import pytest

from mgem_core.config.number_lists import parse_seeds, parse_strengths, seeds_text, strengths_text


def test_seeds_are_read_and_written():
    assert parse_seeds("0-9") == list(range(10))
    assert parse_seeds("7; 0 – 3,3") == [0, 1, 2, 3, 7]
    assert seeds_text([7, 3, 2, 1, 0]) == "0-3, 7"
    assert parse_strengths("1, 0.1 0") == [0.0, 0.1, 1.0]
    assert strengths_text([1.0, 0.0, 0.1]) == "0, 0.1, 1"


@pytest.mark.parametrize("text", ["abc", "1.5", "-3", "0-", "9-0", "0-99999999", "99999999999", "4294967296", "³"])
def test_other_texts_are_no_seeds(text):
    with pytest.raises(ValueError, match=r"“|begin|too"):
        parse_seeds(text)


@pytest.mark.parametrize("text", ["abc", "nan", "-0.1", "inf", "2e6"])
def test_other_texts_are_no_strengths(text):
    with pytest.raises(ValueError, match=r"“|from 0"):
        parse_strengths(text)
