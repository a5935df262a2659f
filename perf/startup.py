"""Measure how long commands take to start, compared with an empty Python program: in turns, the best of several rounds."""

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

from perf.timing import best_of

COMMANDS = {  # title → the arguments of Python
    "python -c pass": ("-c", "pass"),
    "mgem --help": ("-m", "mgem_core", "--help"),
    "mgem runs, empty store": ("-m", "mgem_core", "runs"),
    "import mgem_core": ("-c", "import mgem_core"),
    "import torch": ("-c", "import torch"),
    "import mgem_core.training.engine": ("-c", "import mgem_core.training.engine"),  # workers wait for this import
}
WANTED = {"mgem --help": 0.5, "mgem runs, empty store": 0.7}


def start(arguments: tuple[str, ...], home: Path) -> None:
    environment = {**os.environ, "MGEM_HOME": str(home)}
    subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)


def seconds_of_children() -> float:
    """Return the CPU seconds of all child processes so far; the load of other programs hardly affects them."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as home:
        work = {name: partial(start, arguments, Path(home)) for name, arguments in COMMANDS.items()}
        elapsed, processor = (best_of(rounds, work, clock) for clock in (perf_counter, seconds_of_children))
    print(f"Start-up in seconds, best of {rounds}: elapsed, and of the processor")
    for name in COMMANDS:
        wanted = f"   wanted: at most {WANTED[name]} s" if name in WANTED else ""
        print(f"  {name:<24} {elapsed[name]:6.2f} {processor[name]:6.2f}{wanted}")


if __name__ == "__main__":
    main()
