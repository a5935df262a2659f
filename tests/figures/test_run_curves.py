"""Curves of single runs, and the lines where their tasks begin."""

import pandas as pd

from mgem_core.figures.run_curves import draw_curves, mark_tasks


def curves(*runs: tuple[int, int]):
    """Draw runs, each with these steps per task and this number of steps that it has taken."""
    taken = {
        f"r{number}": pd.DataFrame({"task": 0, "step": [1, steps], "loss": 1.0}) for number, (_, steps) in enumerate(runs)
    }
    lengths = [length for length, _ in runs]
    return mark_tasks(draw_curves(taken, "loss", "loss", dict(zip(taken, lengths, strict=True))), lengths)


def starts(figure) -> list[float]:
    return [shape.x0 for shape in figure.layout.shapes]


def labels(figure) -> dict[str, float]:
    return {label.text: label.x for label in figure.layout.annotations}


def test_a_line_marks_the_start_of_each_task_that_a_run_has_reached():
    figure = curves((100, 101), (100, 250))
    assert starts(figure) == [100, 200]
    assert labels(figure) == {"task 1": 0, "2": 100, "3": 200}


def test_no_line_marks_the_end_of_the_last_task():
    assert starts(curves((100, 60))) == starts(curves((100, 100))) == []
    assert starts(curves((100, 300))) == [100, 200]


def test_tasks_of_different_lengths_have_lines_without_numbers():
    figure = curves((100, 300), (150, 300))
    assert starts(figure) == [100, 150, 200]
    assert labels(figure) == {}


def test_many_tasks_have_at_most_ten_numbers():
    figure = curves((10, 195))
    assert len(starts(figure)) == 19
    assert list(labels(figure)) == ["task 1", "3", "5", "7", "9", "11", "13", "15", "17", "19"]
