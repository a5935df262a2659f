"""After kill -9 at any time and a resume, R and the weights are bit-identical, for every method."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_engine import METHODS, SHORT

from mgem_core import RunConfig, run

SCRIPT = Path(__file__).parents[1] / "support" / "killable.py"


def go(config: RunConfig, checkpoint: Path, events: int | None, delay: float) -> tuple[str, str | None]:
    """Run to the end, or kill after `events` events and `delay` seconds; return its first and last lines."""
    command = [sys.executable, str(SCRIPT), config.model_dump_json(), str(checkpoint)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        first = process.stdout.readline()
        for count, line in enumerate(process.stdout, 2):
            if line.startswith("finished"):
                return first, line
            if count == events:
                time.sleep(delay)
                process.kill()
                return first, None
    raise AssertionError("the run ended without a result")


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_killed_and_resumed_run_is_bit_identical(name, tmp_path):
    config = RunConfig(**{**SHORT, **METHODS[name]})
    whole = list(run(config))[-1]
    moment = random.Random(name)
    lives = [go(config, tmp_path / "run.pt", moment.randint(5, 15), moment.uniform(0, 0.1)) for _ in range(3)]
    lives.append(go(config, tmp_path / "run.pt", None, 0))
    starts = [first.split()[1:] for first, _ in lives]
    assert any(step != "0" for _, step in starts), starts  # at least one attempt began in the middle of a task
    assert lives[0][1] is None
    assert lives[-1][1].split() == ["finished", whole.fingerprint, whole.R.tobytes().hex()]
