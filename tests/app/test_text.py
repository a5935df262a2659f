"""Text for the pages."""

from datetime import UTC, datetime

from text import escape_markdown, format_time


def test_a_time_names_the_year_only_if_it_is_not_the_current_one():
    now = datetime.now(UTC)
    assert format_time(datetime(2001, 2, 3, 4, 5, tzinfo=UTC).timestamp(), UTC) == "3 Feb 2001 04:05"
    assert str(now.year) not in format_time(now.timestamp(), UTC)


def test_texts_of_users_are_not_read_as_markdown():
    assert escape_markdown("a*b_c [d](e) $f$") == r"a\*b\_c \[d\]\(e\) \$f\$"
