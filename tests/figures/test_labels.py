"""Labels of lines cover no other label, point or line, on wide and on narrow plots."""

from itertools import combinations

import numpy as np
import pytest

from mgem_core.figures._labels import MARKER, SCREEN, along, end_labels, free_label, obstacles_of, overlap

NONE = np.empty((0, 3))


@pytest.mark.parametrize("seed", range(5))
def test_end_labels_do_not_overlap(seed):
    ends = [tuple(place) for place in np.random.default_rng(seed).uniform(0.7, 1.0, (12, 2)).tolist()]
    labels = end_labels(ends, [(80, 13)] * 12)
    assert [label.place for label in labels] == ends
    assert not any(overlap(one, other, [plot]) for one, other in combinations(labels, 2) for plot in SCREEN)


def test_label_with_space_stays_next_to_its_point():
    low, high = end_labels([(0.9, 0.1), (0.9, 0.9)], [(80, 14)] * 2)
    assert low.offset == high.offset == (12, -7)


def test_label_avoids_points_lines_and_labels():
    line = along([(0.0, 0.8), (0.8, 0.0)])
    first = free_label(line, (40, 12), NONE, [])
    assert first.place == line[0]
    at_its_place = obstacles_of([first.place])
    second = free_label(line, (40, 12), at_its_place, [])
    third = free_label(line, (40, 12), at_its_place, [second])
    for plot in SCREEN:
        left, bottom, right, top = second.box(plot)
        x, y = first.place[0] * plot[0], first.place[1] * plot[1]
        assert max(left - x, x - right, bottom - y, y - top) >= MARKER
        assert not overlap(second, third, [plot])
    across = obstacles_of([(0.0, 0.5), (1.0, 0.5)])
    assert all(abs(label.place[1] - 0.5) > 0.01 for label in [free_label(line, (40, 12), across, [])])


def test_label_without_space_is_omitted():
    everywhere = obstacles_of([(x, y) for x in np.linspace(0, 1, 30) for y in np.linspace(0, 1, 30)])
    assert free_label(along([(0.0, 1.0), (1.0, 0.0)]), (40, 12), everywhere, []) is None
