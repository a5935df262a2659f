"""The choice of a configuration on held-out images: one rule for tables of the paper, figures and the dashboard."""

from typing import NamedTuple

import pandas as pd


class Choice(NamedTuple):
    configuration: str
    chosen_on: tuple[int, ...]  # the seeds whose validation accuracies decided; empty if none did
    compared: int  # configurations that were compared; 0 if the choice is not by validation


def choose_configuration(finished: pd.DataFrame, seeds: int = 1) -> Choice:
    """Choose the configuration with the highest mean validation accuracy.

    `finished` has one row per finished run: configuration, seed, validation (the held-out share) and validation_acc.
    Configurations are compared on the first seeds that all of them have, at most `seeds`, so that the other seeds have no
    part in the choice. Without such a seed, only those are compared that have the most common seed. All must have held out
    the same share of images, the most common one. A tie goes to the configuration with more seeds, then to the first. If
    fewer than two can be compared, the configuration with the most seeds is returned.
    """
    order = list(dict.fromkeys(finished["configuration"]))
    count = finished["configuration"].value_counts()
    shares = finished.loc[finished["validation_acc"].notna(), "validation"].value_counts()
    same_share = finished[finished["validation"] == shares.index[0]] if len(shares) else finished
    table = same_share.pivot(index="seed", columns="configuration", values="validation_acc").astype(float).sort_index()
    known = table.notna().sum(axis=1)
    compared = table.columns[table.loc[known.idxmax()].notna()] if len(known) else []
    if len(compared) < 2:
        return Choice(max(order, key=lambda one: count[one]), (), 0)
    shared = table[compared].dropna()
    deciding = shared.head(seeds)
    accuracy = deciding.mean()
    best = max((one for one in order if one in accuracy.index), key=lambda one: (round(accuracy[one], 9), count[one]))
    return Choice(best, tuple(map(int, deciding.index)), len(compared))


class BestStrengths(NamedTuple):
    """The configurations to report, and the seeds that chose them, which are not reported."""

    configurations: frozenset[str]
    chosen_on: frozenset[int]


def best_by_validation(points: pd.DataFrame) -> BestStrengths:
    """Choose one configuration per line of a frame of `aggregate.points`, as `choose_configuration` does.

    Configurations with a failed or diverged run are not chosen. A line keeps all its configurations if it has unfinished
    runs, no held-out images, or no seed besides the one that would choose.
    """
    configurations: set[str] = set()
    seeds: set[int] = set()
    for _, of in points.groupby("line", sort=False):
        candidates = of[(of["failed"] == 0) & of["validation_by_seed"].map(bool)]
        if len(candidates) and not of["active"].any() and candidates["finished"].min() > 1:
            choice = choose_configuration(_finished(candidates))
            configurations.add(choice.configuration)
            seeds.update(choice.chosen_on)
        else:
            configurations.update(of["configuration"])
    return BestStrengths(frozenset(configurations), frozenset(seeds))


def _finished(points: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run with a validation accuracy."""
    columns = ["configuration", "validation", "seed", "validation_acc"]
    rows = [
        (configuration, share, seed, accuracy)
        for configuration, share, by_seed in points[[*columns[:2], "validation_by_seed"]].itertuples(index=False)
        for seed, accuracy in by_seed.items()
    ]
    return pd.DataFrame(rows, columns=columns)
