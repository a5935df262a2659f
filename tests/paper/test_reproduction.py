"""docs/reproduction.md: its tables and claims are those of the published results."""

import re

from studies import reproduction


def test_document_is_up_to_date():
    """If this fails, run `python -m studies.reproduction`."""
    text = reproduction.FILE.read_text()
    assert reproduction.filled(text) == text


def test_every_section_is_in_the_document():
    names = re.findall(r"<!-- ([\w-]+) -->\n", reproduction.FILE.read_text())
    assert [name for name in names if name != "end"] == [*reproduction.SECTIONS]


def test_typed_number_is_replaced():
    text = "before\n<!-- strengths -->\n| typed by hand |\n<!-- end -->\nafter"
    found = reproduction.filled(text)
    assert "typed by hand" not in found
    assert found.startswith("before\n<!-- strengths -->")
    assert found.endswith("<!-- end -->\nafter")
