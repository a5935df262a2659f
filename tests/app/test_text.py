"""Text for the pages."""

from datetime import UTC, datetime

from text import escape_markdown, format_time


def test_time_omits_the_current_year():
    current = datetime.now(UTC)
    assert format_time(datetime(2001, 2, 3, 4, 5, tzinfo=UTC).timestamp(), UTC) == "3 Feb 2001 04:05"
    assert str(current.year) not in format_time(current.timestamp(), UTC)


def test_markdown_is_escaped():
    assert escape_markdown("a*b_c [d](e) $f$") == r"a\*b\_c \[d\]\(e\) \$f\$"
