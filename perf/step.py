"""Time one step: GEM against the bare loop, its variants against GEM, convolutions, and MER."""

import argparse
from functools import partial

from perf.setting import (
    DIGITS,
    bare_loop,
    bare_products,
    gem,
    gem_on_noise,
    mer,
    one_optimiser_step_per_sample,
    step_of,
)
from perf.timing import Ratio, ratio, save_ratios, show, take_turns

TARGETS = {1: 1.1, 4: 0.95, 9: 0.90, 19: 0.82}  # past tasks → largest wanted ratio of a GEM step to the bare loop
FAMILY = {
    "d-mGEM(2)": ({"splits": 2}, 1.10),
    "p-mGEM(4)": ({"modules": 4}, 1.05),
    "md-GEM(4,2)": ({"modules": 4, "splits": 2}, 1.15),
}


CONVOLUTIONS = {  # network → samples of memory per past task, and the largest wanted ratio
    "conv5": (64, 0.62),
    "domain-cnn": (64, None),
    "vgg11-bn": (16, None),
    "resnet18": (16, 1.03),
    "alexnet": (16, None),
}


def gem_step(past: int, rounds: int) -> list[Ratio]:
    one = gem(past)
    work = {
        "bare loop": bare_loop(one),
        "bare matrix products, dense": bare_products(one),
        "GEM, restricted step": step_of(one),
    }
    times = take_turns(rounds, work)
    bare, targets = times.pop("bare loop"), {"GEM, restricted step": TARGETS[past]}
    return [ratio(f"{name} / bare loop, k = {past}", times[name], bare, targets.get(name)) for name in times]


def family(rounds: int) -> list[Ratio]:
    """Compare the variants with GEM at 19 past tasks, with all steps restricted."""
    work = {"GEM": step_of(gem(19)), **{name: step_of(gem(19, **fields)) for name, (fields, _) in FAMILY.items()}}
    work |= {f"approx-GEM(4,{splits})": step_of(gem(19, modules=4, splits=splits, solver="approx")) for splits in (1, 2)}
    times = take_turns(rounds, work)
    targets = {name: target for name, (_, target) in FAMILY.items()}
    found = [ratio(f"{name} / GEM, k = 19", times[name], times["GEM"], targets.get(name)) for name in work if name != "GEM"]
    return [*found, ratio("approx / exact, (4,2), k = 19", times["approx-GEM(4,2)"], times["md-GEM(4,2)"], 1.0)]


def convolutions(rounds: int) -> list[Ratio]:
    found = []
    for network, (memory, target) in CONVOLUTIONS.items():
        one = gem_on_noise(network, past=4, memory=memory)
        times = take_turns(rounds, {"bare": bare_loop(one), "GEM": step_of(one)})
        found.append(ratio(f"GEM / bare loop, {network}, k = 4, memory {memory}", times["GEM"], times["bare"], target))
    return found


def mer_step(rounds: int) -> list[Ratio]:
    one = mer()
    samples = one.config.batch_size * (1 + one.config.mer_replays)
    times = take_turns(rounds, {"plain": one_optimiser_step_per_sample(one, samples), "MER": step_of(one)})
    return [ratio("MER / one optimiser step per sample", times["MER"], times["plain"], 0.7)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    parts = [partial(gem_step, past, rounds) for past in TARGETS]
    parts += [partial(family, rounds), partial(mer_step, rounds), partial(convolutions, max(3, rounds // 7))]
    print(f"CPU time of steps on {DIGITS}, 256 samples per past task, one thread: ratios of {rounds} rounds in turns")
    found = []
    for measure in parts:
        found += (part := measure())
        show("", part)
    save_ratios("step", found)


if __name__ == "__main__":
    main()
