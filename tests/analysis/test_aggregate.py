"""The numbers behind every plot and table."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from filled_store import SMALL, filled_store

from mgem_core import RunConfig, run, text
from mgem_core.analysis import aggregate, frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.measurements import MeasurementCache
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Finished, Probed, Started, TaskLearned
from mgem_core.figures import FIGURES, frontier, transfer
from mgem_core.figures.selection import Selection
from mgem_core.metrics import MEASURES, forgetting
from mgem_core.store import Store

SPEC = SweepSpec(
    base={"tasks": 3, "iterations": 10, "memory": 20}, grid={"modules": [1, 4], "strength": [0.0, 0.5], "seed": [0, 1]}
)
R = np.array([[90.0, 10.0, 10.0], [80.0, 85.0, 10.0], [70.0, 75.0, 88.0]])


def probe(task: int, step: int, gs_z: list[float], gt_z: float, norm_z: float = 2.0) -> Probed:
    past = np.array(gs_z)
    return Probed(task, step, past, gt_z, 2 * gt_z, past, norm_z, np.full(len(past), 4.0), 5.0, 6.0)


def learn(store: Store, shift: float = 0.0, tasks: int = 3) -> int:
    """Let the next queued run learn this many tasks."""
    order = ", ".join(f"json_extract(config, '$.{name}')" for name in ("modules", "strength", "seed"))
    run, text = store.database.rows(f"SELECT id, config FROM runs WHERE status = 'queued' ORDER BY {order}")[0]
    config = RunConfig.model_validate_json(text)
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET status = 'running' WHERE id = ?", (run,))
    events = [Started(config.label, ("a", "b", "c"), 10, 100, 0, 0)]
    for task in range(tasks):
        events += [probe(task, step, [1.0 + shift + s for s in range(task)], 8.0 - shift) for step in (5, 10) if task]
        events.append(TaskLearned(task, R[task] + shift, task + 1.0))
    if tasks == 3:
        rows = R + shift
        events.append(Finished("finished", "", rows, rows[2].mean(), rows.diagonal().mean(), 0.0, 3.0, 0.1, "abc"))
    store.record([(run, event) for event in events])
    return run


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SPEC)
    return store


def points(store, view=View(), cache=None) -> pd.DataFrame:  # noqa: B008
    return measurements.points(store, frames.runs(store, 1), view, cache)


def test_point_is_the_mean_over_seeds(store):
    learn(store, 0.0)
    learn(store, 2.0)
    row = points(store).iloc[0]
    assert (row["line"], row["q"], row["runs"], row["finished"], row["active"]) == ("GEM", 0.0, 2, 2, 0)
    assert row["x"] == pytest.approx((1.0 / 2 + 3.0 / 2) / 2)
    assert row["y"] == pytest.approx((8.0 / 2 + 6.0 / 2) / 2)
    assert row["x_sem"] == pytest.approx(np.std([0.5, 1.5], ddof=1) / np.sqrt(2))
    assert row["acc"] == pytest.approx(R[2].mean() + 1)
    assert row["fwd"] == pytest.approx(R.diagonal().mean() + 1)
    assert row["bwd"] == pytest.approx(row["acc"] - row["fwd"])
    assert row["forgetting"] == pytest.approx(forgetting(R))
    assert row["acc_std"] == pytest.approx(np.std([0, 2], ddof=1))
    assert row["curve"] == pytest.approx([91.0, 83.5, R[2].mean() + 1])


@pytest.mark.parametrize(
    ("view", "x", "y"),
    [
        (View(axes="raw"), 1.0, 8.0),
        (View(axes="unit"), 0.5, 4.0),
        (View(axes="cosine"), 1.0 / 8, 8.0 / 10),
        (View(axes="raw", pair=(1, 2)), 2.0, 8.0),
        (View(axes="raw", pair=None), (1 + 1 + 2) / 3, 8.0),
        (View(axes="raw", pair=None, after=2), 1.0, 8.0),
    ],
)
def test_view_selects_axes_pair_and_task(store, view, x, y):
    learn(store)
    row = points(store, view).iloc[0]
    assert (row["x"], row["y"]) == pytest.approx((x, y))


def test_view_after_an_earlier_task(store):
    learn(store)
    row = points(store, View(after=2)).iloc[0]
    assert (row["acc"], row["fwd"]) == pytest.approx(((80 + 85) / 2, (90 + 85) / 2))
    assert np.isnan(points(store, View(after=1)).iloc[0]["x"])  # there is no past task yet


def test_measures_equal_the_result_of_the_run(tmp_path):
    """Measures from the rows of R equal those that the engine reports at the end."""
    store = Store(tmp_path / "runs.db")
    spec = SweepSpec(
        base={"tasks": 2, "iterations": 5, "memory": 10, "probe_every": 2}, grid={"method": ["gem", "independent"]}
    )
    store.submit(spec)
    for config in spec.runs():
        number, claimed = store.claim()
        assert claimed == config
        store.record([(number, event) for event in run(RunConfig(**config.model_dump()))])
    frame, runs = points(store), frames.with_forgetting(store, frames.runs(store))
    assert frame[[*MEASURES]].to_numpy(float) == pytest.approx(runs[[*MEASURES]].to_numpy(float), nan_ok=True)
    assert frame[["bwd", "forgetting"]].isna().to_numpy().tolist() == [[False, False], [True, True]]


def test_unfinished_runs_are_included(store):
    learn(store)
    learn(store, 5.0, tasks=1)
    row = points(store).iloc[0]
    assert (row["finished"], row["active"]) == (1, 1)
    assert (row["acc"], row["learned"]) == (pytest.approx(R[2].mean()), 3)  # the seed with fewer tasks does not count yet
    assert row["progress"] == pytest.approx((1 + 1 / 3) / 2)
    assert np.isnan(points(store, View(after=3)).iloc[1]["acc"])


def test_cache_reads_only_runs_that_advanced(store):
    cache = MeasurementCache()
    learn(store)
    first = points(store, cache=cache)
    queries: list[str] = []
    with store.database.reading() as connection:
        connection.set_trace_callback(queries.append)
    again = points(store, cache=cache)
    assert not [query for query in queries if "FROM events" in query]
    pd.testing.assert_frame_equal(first, again)
    learn(store, 2.0)
    assert points(store, cache=cache).iloc[0]["finished"] == 2


def test_lines_are_named_by_the_fields_that_differ(tmp_path):
    store = Store(tmp_path / "runs.db")
    grid = {
        "modules": [1, "fc1=0,fc2=0,fc3=1", "fc1=0,fc2=1,fc3=0"],
        "trigger": ["always", "violation"],
        "strength": [0, 1],
    }
    store.submit(SweepSpec(base={"tasks": 2}, grid=grid))
    lines = points(store)["line"].unique()
    assert len(lines) == 6
    assert lines[0] == "GEM · trigger always"


def test_pareto_front(store):
    for shift in (0.0, 0.0, 1.0, 1.0, 0.5, 0.5):  # x grows with the shift and y falls, so all are on the front
        learn(store, shift)
    assert points(store)["front"].tolist() == [True, True, True, False]  # the last has no measurements yet
    figure = frontier.screen(points(store), View())
    assert figure["data"][0]["x"] == [0.5, 0.75, 1.0]


def test_infinite_values_are_unknown(store):
    learn(store, np.inf)
    learn(store)
    learn(store, np.inf)
    frame = points(store)
    assert np.isnan(frame["x"][1])
    assert (frame["x"][0], frame["front"][0]) == (0.5, True)  # mean of the other seed
    json.dumps(frontier.screen(frame, View()), allow_nan=False)
    json.dumps(transfer.screen(frame, View()), allow_nan=False)


def test_format_of_numbers_and_strengths():
    assert text.mean_and_error(-1.005, 0.25) == "−1.00 ± 0.25"
    assert text.mean_and_error(np.nan, np.nan) == "—"
    assert text.strength((0.5, 0.1)) == "0.5, 0.1"
    assert aggregate.title(pd.Series({"line": "GEM", "q": [0.5, 0.1]})) == "GEM at q = 0.5, 0.1"
    assert aggregate.title(pd.Series({"line": "EWC", "q": np.nan})) == "EWC"


def test_plots_show_all_points_and_mark_unfinished_ones(store):
    learn(store)
    learn(store, 1.0, tasks=2)
    learn(store, 2.0)
    frame = points(store)
    for figure in (frontier.screen(frame, View()), transfer.screen(frame, View())):
        shown = {
            key: symbol
            for trace in go.Figure(figure).data  # plotly accepts it
            if trace.customdata is not None
            for key, symbol in zip(trace.customdata, trace.marker.symbol, strict=True)
        }
        assert list(shown) == frame["key"].tolist()[:2]
        assert list(shown.values()) == ["circle-open", "circle-open"]
        assert all(re.fullmatch(r"\w+", trace["uid"], re.ASCII) for trace in figure["data"])


def test_failed_run_is_shown_only_after_tasks_it_learned(store):
    run = learn(store, 20.0, tasks=1)
    store.record([(run, Finished("diverged", "no luck", R, 95.0, 95.0, 0.0, 1.0, 0.1, "abc"))])
    learn(store)
    row = points(store).iloc[0]
    assert row["acc"] == pytest.approx(R[2].mean())
    assert points(store, View(after=1)).iloc[0]["acc"] == pytest.approx((110 + 90) / 2)


def test_fewer_learned_tasks_are_not_compared(store):
    learn(store)
    learn(store)
    learn(store, 5.0, tasks=1)  # 95 percent, but only on the first task
    assert points(store)["learned"].tolist() == [3, 1, 0, 0]


def test_custom_partition_in_the_legend(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SweepSpec(base={"tasks": 2}, grid={"modules": ["fc1=0,fc2=0,fc3=1", "fc1=0,fc2=1,fc3=0"]}))
    assert points(store)["line"][0] == "p-mGEM(2*) · modules fc1=0,fc2=0,fc3=1"


def runs_shown(cache: MeasurementCache, store: Store) -> dict[int, float]:
    """Return each run's accuracy on the first task just after learning it, from the cache."""
    return {run: measured.new_accuracy[0] for run, measured in cache.read(store, store.run_ids(1)).items()}


def finished_store(path, shift: float) -> Store:
    """Build a store whose first run has finished; `shift` makes its numbers differ from those of other stores."""
    store = Store(path)
    store.submit(SweepSpec(base=SPEC.base))
    learn(store, shift)
    return store


def test_cache_distinguishes_stores(tmp_path):
    cache = MeasurementCache()
    for shift in (0.0, 5.0):
        store = finished_store(tmp_path / f"{shift}.db", shift)
        assert store.database.rows("SELECT id, status, attempts, task, step FROM runs")[0]["id"] == 1
        assert runs_shown(cache, store) == {1: 90.0 + shift}


def test_cache_reads_a_restarted_run_again(tmp_path):
    """This holds even if the run has advanced as far as before, as after restoring a copy of the store."""
    cache, store = MeasurementCache(), finished_store(tmp_path / "runs.db", 0.0)
    runs_shown(cache, store)
    with store.database.transaction() as db:
        db.execute("UPDATE events SET data = json_replace(data, '$.row[0]', 33.0) WHERE kind = 'TaskLearned' AND task = 0")
        db.execute("UPDATE runs SET started = 1.0, ended = 2.0")
    assert runs_shown(cache, store) == {1: 33.0}


def test_cache_drops_least_recently_used_runs(tmp_path):
    stores = [finished_store(tmp_path / f"{number}.db", number) for number in range(3)]
    cache = MeasurementCache(most=2)
    for number in (0, 1, 0, 2):
        assert runs_shown(cache, stores[number]) == {1: 90.0 + number}
    assert len(cache._known) == 2
    for number in (2, 0, 1):
        with stores[number].database.transaction() as db:
            db.execute("DELETE FROM events")  # cached runs are not read again
        [measured] = cache.read(stores[number], [1]).values()
        assert bool(measured.new_accuracy) == (number != 1)


def test_cache_holds_all_runs_of_the_last_call(store):
    cache = MeasurementCache(most=3)
    points(store, cache=cache)
    assert len(cache._known) == 8
    queries: list[str] = []
    with store.database.reading() as connection:
        connection.set_trace_callback(queries.append)
    points(store, cache=cache)
    assert not [query for query in queries if "FROM events" in query]


def test_deleted_run_has_no_measurements(store):
    store.cancel([1])
    store.delete([1])
    assert MeasurementCache().read(store, [1])[1].mean_accuracy == []


def test_cache_is_thread_safe(tmp_path):
    paths = [finished_store(tmp_path / f"{number}.db", number).path for number in range(6)]
    cache = MeasurementCache(most=2)

    def look(number: int) -> bool:
        store = Store(paths[number % 6])
        return all(runs_shown(cache, store) == {1: 90.0 + number % 6} for _ in range(20))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(look, range(12)))
    assert len(cache._known) <= 2


def test_gradient_of_training_set_or_batch(store):
    learn(store)
    full, batch = (points(store, View(axes="raw", gradient=gradient)).iloc[0] for gradient in ("full", "batch"))
    assert batch["y"] == pytest.approx(2 * full["y"])
    assert batch["x"] == full["x"]


def test_run_of_an_older_version_has_only_the_batch(store):
    learn(store)
    with store.database.transaction() as db:
        old = "json_remove(json_set(data, '$.gt_z', 7.0), '$.batch_z', '$.norm_g')"
        db.execute(f"UPDATE events SET data = {old} WHERE kind = 'Probed'")
    full, batch = (points(store, View(axes="raw", gradient=gradient)).iloc[0] for gradient in ("full", "batch"))
    assert np.isnan(full["y"])
    assert batch["y"] == 7.0


def test_means_are_over_shared_seeds(store):
    """Otherwise a configuration whose better seed finished first would look better."""
    for shift in (0.0, 50.0, 0.0, 50.0, 0.0):  # both seeds of two configurations, the first seed of the third
        learn(store, shift)
    frame = points(store).dropna(subset=["acc"])
    assert frame["acc"].tolist() == pytest.approx([R[2].mean()] * 3)
    assert frame["seeds"].tolist() == [1, 1, 1]
    for shift in (50.0, 0.0, 50.0):
        learn(store, shift)
    frame = points(store)
    assert frame["seeds"].tolist() == [2, 2, 2, 2]
    assert frame["acc"].tolist() == pytest.approx([R[2].mean() + 25] * 4)
    assert frame["acc_within"].tolist() == pytest.approx([0.0] * 4, abs=1e-9)


def test_running_seed_is_excluded_next_to_finished_ones(store):
    """Both seeds of the second configuration have learned all tasks, but one run has not ended."""
    for shift in (0.0, 10.0, 0.0):
        learn(store, shift)
    run = learn(store, 10.0)
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET status = 'running' WHERE id = ?", (run,))
    frame = points(store)
    assert frame["acc"].tolist()[:2] == pytest.approx([R[2].mean()] * 2)
    assert frame["seeds"].tolist()[:2] == [1, 1]
    assert frame["other_seeds"].tolist()[:2] == [(1,), ()]
    assert aggregate.seeds_in_words(frame) == "1 shared seed, 1 more in some configurations"
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET status = 'finished' WHERE id = ?", (run,))
    assert aggregate.seeds_in_words(points(store)) == "2 shared seeds"


def test_configuration_without_ended_run_is_hollow(store):
    learn(store)
    learn(store)
    learn(store, 4.0, tasks=2)
    frame = points(store)
    assert frame["is_shared"].tolist() == [True, False, False, False]
    assert frame["x"][1] == pytest.approx((1.0 + 4.0) / 2)
    symbols = [trace["marker"]["symbol"] for trace in frontier.screen(frame, View())["data"] if "customdata" in trace]
    assert symbols == [["circle", "circle-open"]]


def test_all_points_are_hollow_without_shared_seeds(store):
    runs = [learn(store, shift) for shift in (0.0, 1.0, 2.0, 3.0)]  # two seeds of two configurations
    with store.database.transaction() as db:  # keep seed 1 of one configuration and seed 0 of the other
        db.execute("UPDATE runs SET status = 'failed' WHERE id IN (?, ?)", (runs[0], runs[3]))
    frame = points(store)
    assert not frame["is_shared"].any()
    assert frame["acc"].tolist()[:2] == pytest.approx([R[2].mean() + 1.0, R[2].mean() + 2.0])
    assert aggregate.seeds_in_words(frame) == "no shared seed yet"
    symbols = [trace["marker"]["symbol"] for trace in transfer.screen(frame, View())["data"] if "customdata" in trace]
    assert symbols == [["circle-open", "circle-open"]]


def test_view_after_a_task_includes_seeds_that_learned_it(store):
    for shift, tasks in ((0.0, 3), (10.0, 2), (0.0, 2), (10.0, 2)):
        learn(store, shift, tasks=tasks)
    frame = points(store, View(after=2))
    assert frame["seeds"].tolist()[:2] == [2, 2]
    assert frame["is_shared"].tolist()[:2] == [True, True]


def test_values_by_seed(store):
    for shift in (0.0, 2.0):
        learn(store, shift)
    row = points(store, View(errors="seeds")).iloc[0]
    assert row["by_seed"][1]["acc"] - row["by_seed"][0]["acc"] == pytest.approx(2.0)
    assert "by_seed" not in points(store)


def test_repeated_seed_counts_once():
    """A sweep extended after an edit of the code has runs of both versions; the newest finished run counts."""
    rows = [
        (1, "a", 0, "finished"),
        (2, "a", 1, "finished"),
        (3, "a", 0, "finished"),
        (4, "a", 1, "running"),
        (5, "b", 0, "failed"),
    ]
    runs = pd.DataFrame(rows, columns=["id", "configuration", "seed", "status"])
    assert aggregate.one_per_seed(runs)["id"].tolist() == [2, 3, 5]


def test_strengths_per_task_with_the_mean_of_another_are_left_out(tmp_path):
    spec = SweepSpec(base=SMALL, grid={"modules": [1, 4], "strength": [0.15, 0.5, [0.1, 0.2]], "seed": [0, 1, 2, 3]})
    rows = Selection(filled_store(tmp_path / "runs.db", spec), 1).runs_to_compare()
    assert rows.groupby(["line", "q"]).size().tolist() == [4] * 4


def test_validation_acc_is_the_mean_over_shared_seeds(tmp_path):
    base = {"tasks": 2, "iterations": 5, "memory": 20, "validation": 0.1, "probe_every": 0}
    spec = SweepSpec(base=base, grid={"strength": [0.0, 1.0], "seed": [0, 1]})
    store = Store(tmp_path / "runs.db")
    store.submit(spec)
    for number, config in enumerate(spec.runs(), 1):
        store.record([(number, event) for event in run(config)])
    runs = frames.runs(store, 1)
    found = points(store)
    assert list(found["validation_acc"]) == pytest.approx(list(runs.groupby("strength")["validation_acc"].mean()))
    table = FIGURES["table"]
    best = table.data(Selection(store, 1, view=View(strengths="validation")))
    of_first_seed = runs[runs["seed"] == 0].set_index("strength")["validation_acc"]
    assert list(best["q"]) == [of_first_seed.idxmax()]
    of_other_seed = runs[runs["seed"] == 1].set_index("strength")
    for measure in ("validation_acc", "acc"):  # the seed that chose is not reported
        assert list(table.tidy(best, View())[measure]) == [of_other_seed.loc[best["q"].iloc[0], measure]]
